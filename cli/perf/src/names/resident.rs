//! How much of the mapped indexes is resident, and when it is too much.
//!
//! In: lookups. Out: whether pages should be let go. A page fault maps what is around it
//! too, so that lookups all over large indexes would have all of them resident.

use std::fs::File;

/// Resident bytes of mapped files at most, as far as it is looked at. Less takes more
/// page faults: of a profile of 79,000 samples 48 MiB cost nothing that can be measured,
/// 30 MiB half as much time again.
const MOST: u64 = 48 << 20;
/// The same while addresses come in order: what is behind them is not needed again.
const MOST_IN_ORDER: u64 = 14 << 20;
/// It is looked at every so many lookups at least and at most; each may touch some 64 KiB
/// in a few places.
const LOOKUPS: (u64, u64) = (16, 128);

/// Looks at the resident memory now and then.
#[derive(Debug)]
pub(super) struct Resident {
    statm: Option<File>,
    most: u64,
    /// Lookups until the next look, and from the last look to that one.
    left: u64,
    step: u64,
    /// What was resident at the last look.
    before: u64,
}

impl Resident {
    pub(super) fn new() -> Self {
        let statm = File::open("/proc/self/statm").ok();
        Self { statm, most: MOST, left: LOOKUPS.0, step: LOOKUPS.0, before: 0 }
    }

    pub(super) fn in_order(&mut self, yes: bool) {
        self.most = if yes { MOST_IN_ORDER } else { MOST };
        (self.left, self.step) = (LOOKUPS.0, LOOKUPS.0);
    }

    /// Counts a lookup; true when pages should be let go.
    #[inline]
    pub(super) fn is_too_much(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0 && self.look()
    }

    fn look(&mut self) -> bool {
        let now = self.file_bytes().unwrap_or(0);
        // As many lookups as take half of the room that is left, at the pace so far.
        let room = self.most.saturating_sub(now) >> 1;
        let taken = now.saturating_sub(self.before).max(1);
        let step = room.saturating_mul(self.step).checked_div(taken).unwrap_or(0);
        self.step = step.clamp(LOOKUPS.0, LOOKUPS.1);
        self.left = self.step;
        self.before = now;
        now > self.most
    }

    /// Resident bytes of mapped files; `None` where the system does not tell.
    fn file_bytes(&self) -> Option<u64> {
        use std::os::unix::fs::FileExt as _;
        let mut text = [0; 128];
        let length = self.statm.as_ref()?.read_at(&mut text, 0).ok()?;
        shared_pages(text.get(..length)?)?.checked_mul(PAGE)
    }
}

/// Bytes that a page of `statm` stands for; larger ones make the bound looser.
const PAGE: u64 = 4096;

/// The third number: pages of files.
fn shared_pages(statm: &[u8]) -> Option<u64> {
    let third = statm.split(|&byte| byte == b' ').nth(2)?;
    std::str::from_utf8(third).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_number_counts_pages_of_files() {
        assert_eq!(shared_pages(b"5000 1234 567 80 0 900 0\n"), Some(567));
        assert_eq!(shared_pages(b"5000 1234"), None);
        assert_eq!(shared_pages(b""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_pages_of_its_own_program() {
        assert!(Resident::new().file_bytes().is_some_and(|bytes| bytes > 0));
    }
}
