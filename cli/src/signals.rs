//! Signals whose usual end would leave something behind.
//!
//! A file that grows past the limit of `ulimit -f` ends a program before it can
//! remove what it began; told by an error instead, it does. Elsewhere: nothing.

/// From now on a write past the limit of file sizes is an error of that write.
pub(crate) fn ignore_file_size_limit() {
    // SAFETY: no handler is installed, and no thread was started yet; ignoring a
    // signal is all that happens.
    #[cfg(unix)]
    #[allow(unsafe_code)]
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}
