//! How much memory of this process is resident.
//!
//! In: the system's word. Out: bytes; peaks between two looks are not seen.

/// Resident memory; 0 where the system does not tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resident {
    /// Anonymous.
    pub(crate) anonymous: u64,
    /// Of mapped files.
    pub(crate) mapped: u64,
}

/// What is resident now.
pub(crate) fn resident() -> Resident {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return Resident::default();
    };
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0).saturating_mul(1024)
    };
    Resident { anonymous: bytes("RssAnon:"), mapped: bytes("RssFile:") }
}
