//! Progress: how far a build has come, told to whoever wants to know.
//!
//! In: calls from the steps of a build, from any of its threads. Out: the same
//! calls to one listener, or to nobody. Never changes what is built.
//!
//! ```
//! # let app = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf"));
//! # use std::sync::atomic::{AtomicU64, Ordering};
//! # #[derive(Default)]
//! # struct Count(AtomicU64, AtomicU64);
//! # impl Count {
//! #     fn steps(&self) -> u64 { self.0.load(Ordering::Relaxed) }
//! #     fn parts(&self) -> u64 { self.1.load(Ordering::Relaxed) }
//! # }
//! # impl symidx_indexer::progress::Progress for Count {
//! #     fn phase(&self, _: &'static str, _: u64) { self.0.fetch_add(1, Ordering::Relaxed); }
//! #     fn advance(&self, by: u64) { self.1.fetch_add(by, Ordering::Relaxed); }
//! # }
//! use symidx_indexer::{BuildOptions, build_bytes, progress::Listener};
//!
//! let counted = std::sync::Arc::new(Count::default());
//! let progress = Listener::new(counted.clone());
//! build_bytes(app, &BuildOptions { progress, ..BuildOptions::default() })?;
//! assert!(counted.steps() > 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::sync::Arc;

/// Listens to a build. Calls come from several threads and must return at once.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use symidx_indexer::progress::Progress;
///
/// /// Counts the parts that are done, from whatever threads do them.
/// #[derive(Default)]
/// struct Bar(AtomicU64);
///
/// impl Progress for Bar {
///     fn phase(&self, _: &'static str, _: u64) {
///         self.0.store(0, Relaxed);
///     }
///
///     fn advance(&self, by: u64) {
///         self.0.fetch_add(by, Relaxed);
///     }
/// }
///
/// let bar = Bar::default();
/// bar.advance(2);
/// assert_eq!(bar.0.load(Relaxed), 2);
/// ```
pub trait Progress: Send + Sync {
    /// A step begins: what it does, in a few words, and how many parts it has;
    /// 0 = not known.
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicU64, Ordering};
    /// # #[derive(Default)]
    /// # struct Count(AtomicU64, AtomicU64);
    /// # impl Count {
    /// #     fn steps(&self) -> u64 { self.0.load(Ordering::Relaxed) }
    /// #     fn parts(&self) -> u64 { self.1.load(Ordering::Relaxed) }
    /// # }
    /// # impl symidx_indexer::progress::Progress for Count {
    /// #     fn phase(&self, _: &'static str, _: u64) { self.0.fetch_add(1, Ordering::Relaxed); }
    /// #     fn advance(&self, by: u64) { self.1.fetch_add(by, Ordering::Relaxed); }
    /// # }
    /// use symidx_indexer::progress::Progress;
    ///
    /// let counted = Count::default();
    /// counted.phase("reading DWARF", 120); // a bar of 120 parts begins
    /// assert_eq!(counted.steps(), 1);
    /// ```
    fn phase(&self, name: &'static str, total: u64);

    /// So many more parts of the step are done.
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicU64, Ordering};
    /// # #[derive(Default)]
    /// # struct Count(AtomicU64, AtomicU64);
    /// # impl Count {
    /// #     fn steps(&self) -> u64 { self.0.load(Ordering::Relaxed) }
    /// #     fn parts(&self) -> u64 { self.1.load(Ordering::Relaxed) }
    /// # }
    /// # impl symidx_indexer::progress::Progress for Count {
    /// #     fn phase(&self, _: &'static str, _: u64) { self.0.fetch_add(1, Ordering::Relaxed); }
    /// #     fn advance(&self, by: u64) { self.1.fetch_add(by, Ordering::Relaxed); }
    /// # }
    /// use symidx_indexer::progress::Progress;
    ///
    /// let counted = Count::default();
    /// counted.advance(1);
    /// counted.advance(2); // perhaps from another thread
    /// assert_eq!(counted.parts(), 3);
    /// ```
    fn advance(&self, by: u64);
}

/// Whoever listens to a build: by default nobody.
///
/// ```
/// use symidx_indexer::{BuildOptions, progress::Listener};
///
/// let options = BuildOptions { progress: Listener::default(), ..BuildOptions::default() };
/// options.progress.phase("reading DWARF", 10); // nobody listens
/// ```
#[derive(Clone, Default)]
pub struct Listener(Option<Arc<dyn Progress>>);

impl Listener {
    /// One that hands every call on.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use symidx_indexer::progress::{Listener, Progress};
    ///
    /// struct Print;
    ///
    /// impl Progress for Print {
    ///     fn phase(&self, name: &'static str, total: u64) {
    ///         println!("{name}: {total}");
    ///     }
    ///
    ///     fn advance(&self, _: u64) {}
    /// }
    ///
    /// let listener = Listener::new(Arc::new(Print)); // for `BuildOptions::progress`
    /// listener.phase("reading DWARF", 10);
    /// listener.advance(1);
    /// ```
    #[must_use]
    pub fn new(progress: Arc<dyn Progress>) -> Self {
        Self(Some(progress))
    }

    /// A step begins: see [`Progress::phase`].
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicU64, Ordering};
    /// # #[derive(Default)]
    /// # struct Count(AtomicU64, AtomicU64);
    /// # impl Count {
    /// #     fn steps(&self) -> u64 { self.0.load(Ordering::Relaxed) }
    /// #     fn parts(&self) -> u64 { self.1.load(Ordering::Relaxed) }
    /// # }
    /// # impl symidx_indexer::progress::Progress for Count {
    /// #     fn phase(&self, _: &'static str, _: u64) { self.0.fetch_add(1, Ordering::Relaxed); }
    /// #     fn advance(&self, by: u64) { self.1.fetch_add(by, Ordering::Relaxed); }
    /// # }
    /// let counted = std::sync::Arc::new(Count::default());
    /// let listener = symidx_indexer::progress::Listener::new(counted.clone());
    /// listener.phase("reading symbols", 0);
    /// assert_eq!(counted.steps(), 1);
    /// ```
    pub fn phase(&self, name: &'static str, total: usize) {
        if let Some(progress) = &self.0 {
            progress.phase(name, u64::try_from(total).unwrap_or(u64::MAX));
        }
    }

    /// More of it is done: see [`Progress::advance`].
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicU64, Ordering};
    /// # #[derive(Default)]
    /// # struct Count(AtomicU64, AtomicU64);
    /// # impl Count {
    /// #     fn steps(&self) -> u64 { self.0.load(Ordering::Relaxed) }
    /// #     fn parts(&self) -> u64 { self.1.load(Ordering::Relaxed) }
    /// # }
    /// # impl symidx_indexer::progress::Progress for Count {
    /// #     fn phase(&self, _: &'static str, _: u64) { self.0.fetch_add(1, Ordering::Relaxed); }
    /// #     fn advance(&self, by: u64) { self.1.fetch_add(by, Ordering::Relaxed); }
    /// # }
    /// let counted = std::sync::Arc::new(Count::default());
    /// let listener = symidx_indexer::progress::Listener::new(counted.clone());
    /// listener.advance(3);
    /// assert_eq!(counted.parts(), 3);
    /// ```
    pub fn advance(&self, by: usize) {
        if let Some(progress) = &self.0 {
            progress.advance(u64::try_from(by).unwrap_or(u64::MAX));
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Listener(one)" } else { "Listener(nobody)" })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::{BuildOptions, build_bytes};

    #[derive(Default)]
    struct Heard(Mutex<Vec<&'static str>>);

    impl Heard {
        fn steps(&self) -> Vec<&'static str> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
        }
    }

    impl Progress for Heard {
        fn phase(&self, name: &'static str, _: u64) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        }

        fn advance(&self, _: u64) {
            self.phase("advance", 0);
        }
    }

    /// A bound on memory makes the batches of units small; it and the number of
    /// threads change nothing else.
    #[test]
    fn bounds_change_the_batches_and_no_byte() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/elf/split/v5/app");
        let build = |max_memory, threads: Option<usize>| {
            let heard = Arc::new(Heard::default());
            let options = BuildOptions {
                max_memory,
                threads: threads.and_then(std::num::NonZeroUsize::new),
                progress: Listener::new(heard.clone()),
                ..BuildOptions::default()
            };
            let bytes = build_bytes(&file, &options).map(|(bytes, _)| bytes).ok();
            (bytes, heard.steps().iter().filter(|step| **step == "advance").count())
        };
        let (bytes, batches) = build(None, None);
        assert!(bytes.is_some());
        assert_eq!(batches, 1);
        for (max_memory, threads, batches) in
            [(Some(1), None, 2), (Some(1), Some(1), 2), (Some(1 << 30), Some(3), 1)]
        {
            assert_eq!(build(max_memory, threads), (bytes.clone(), batches));
        }
    }

    #[test]
    fn a_build_tells_its_steps_and_is_not_changed_by_it() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/elf/zero-size/z.exe");
        let heard = Arc::new(Heard::default());
        let options =
            BuildOptions { progress: Listener::new(heard.clone()), ..BuildOptions::default() };
        let told = build_bytes(&file, &options).map(|(bytes, _)| bytes).ok();
        let untold = build_bytes(&file, &BuildOptions::default()).map(|(bytes, _)| bytes).ok();
        assert!(told.is_some() && told == untold);
        let steps = heard.steps();
        assert_eq!(steps.first(), Some(&"reading symbols"));
        assert_eq!(steps.last(), Some(&"writing"));
    }
}
