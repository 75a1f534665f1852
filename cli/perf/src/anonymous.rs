//! How much anonymous memory this process has.
//!
//! In: the system's word. Out: bytes; peaks between two looks are not seen.

/// Anonymous resident memory of this process; 0 where the system does not tell.
///
/// ```
/// let before = symidx_perf::anonymous_bytes();
/// let held = vec![1u8; 1 << 20];
/// println!("{} bytes more", symidx_perf::anonymous_bytes().saturating_sub(before));
/// # drop(held);
/// ```
#[must_use]
pub fn bytes() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0).saturating_mul(1024)
}
