//! What happens to a reader when somebody breaks the contract of a mapped
//! index: truncates the file, or writes into it. In child processes, since
//! one outcome is SIGBUS. A store that reads survives everything.
#![cfg(target_os = "linux")]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

mod live;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use live::Library;
use symidx::process::{Modules, Resolver, Store};

/// A library, its index, and two resolvers that have it open.
struct Readers {
    index: PathBuf,
    addresses: Vec<u64>,
    mapped: Resolver,
    read: Resolver,
    _library: Library,
    _directory: tempfile::TempDir,
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// With this many right answers.
    Right(usize),
    Signal(i32),
}

impl Readers {
    fn new(name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(format!("lib{name}.so"));
        live::compile(name, 0, &path);
        let index = directory.path().join(format!("lib{name}.so.symidx"));
        live::build(&path, &index);
        let library = Library::open(&path);
        let addresses: Vec<u64> =
            (0..live::FUNCTIONS).map(|n| library.address(&format!("{name}_{n}")) + 1).collect();
        // SAFETY: the promise is broken below, in children only: that is the test.
        let [mapped, read] = [unsafe { Store::mapped() }, Store::read()].map(|store| {
            let mut resolver = Resolver::new(Modules::capture(), Arc::new(store));
            assert_eq!(resolver.open_for(&addresses), 1);
            resolver
        });
        let readers =
            Self { index, addresses, mapped, read, _library: library, _directory: directory };
        assert_eq!(readers.right(&readers.mapped), readers.addresses.len());
        readers
    }

    /// How many addresses have the right name; asks for frames as well.
    fn right(&self, resolver: &Resolver) -> usize {
        let right = |address: &&u64| {
            if let Ok(found) = resolver.frames(**address) {
                // However damaged: it ends.
                assert!(found.frames().count() < 1000);
            }
            resolver.lookup(**address).is_ok_and(|found| {
                let (name, start) = live::dladdr(**address);
                found.symbol().name().to_string() == name
                    && found.symbol().offset() == **address - start
            })
        };
        self.addresses.iter().filter(right).count()
    }

    /// The answers of a child process.
    fn in_child(&self, resolver: &Resolver) -> End {
        // SAFETY: the child asks, and ends by `_exit`; the C library keeps
        // its allocator usable in it.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                // Nothing of a broken lookup takes this long.
                libc::alarm(60);
                libc::_exit(i32::try_from(self.right(resolver)).unwrap());
            }
            assert!(child > 0, "fork");
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            status
        };
        match libc::WIFEXITED(status) {
            true => End::Right(usize::try_from(libc::WEXITSTATUS(status)).unwrap()),
            false => End::Signal(libc::WTERMSIG(status)),
        }
    }

    fn truncate(&self, size: u64) {
        OpenOptions::new().write(true).open(&self.index).unwrap().set_len(size).unwrap();
    }

    fn all(&self) -> End {
        End::Right(self.addresses.len())
    }
}

#[test]
fn an_index_that_is_truncated_under_a_mapped_reader_ends_it_with_sigbus() {
    let readers = Readers::new("cut");
    readers.truncate(0);
    assert_eq!(readers.in_child(&readers.mapped), End::Signal(libc::SIGBUS));
    assert_eq!(readers.in_child(&readers.read), readers.all());
    // A store that opens it now says what is wrong, and does not map it.
    // SAFETY: the file stays as it is from here on.
    let store = Arc::new(unsafe { Store::mapped() });
    let mut late = Resolver::new(Modules::capture(), store);
    late.open_for(&readers.addresses);
    let reason = late.lookup(readers.addresses[0]).unwrap_err();
    assert_eq!(reason.name(), "unusable index");
}

#[test]
fn what_is_written_into_an_index_under_a_reader_is_no_crash() {
    let readers = Readers::new("overwritten");
    let good = std::fs::read(&readers.index).unwrap();
    let file = OpenOptions::new().write(true).open(&readers.index).unwrap();
    let mut seed = 1u64;
    let mut noise = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed.to_le_bytes()[0]
    };
    let length = good.len();
    let damages: [(&str, Vec<u8>); 5] = [
        ("zeros", vec![0; length]),
        ("ones", vec![0xff; length]),
        ("noise", (0..length).map(|_| noise()).collect()),
        ("its own bytes moved", good.iter().skip(64).chain(&good[..64]).copied().collect()),
        ("noise in every eighth byte", {
            let damaged = |(at, &byte): (usize, &u8)| if at % 8 == 3 { noise() } else { byte };
            good.iter().enumerate().map(damaged).collect()
        }),
    ];
    for (what, bytes) in damages {
        file.write_all_at(&bytes, 0).unwrap();
        // Wrong answers there may be: whoever maps promised that this is not done.
        let end = readers.in_child(&readers.mapped);
        assert!(matches!(end, End::Right(_)), "{what}: {end:?}");
        assert_eq!(readers.in_child(&readers.read), readers.all(), "{what}");
    }
    file.write_all_at(&good, 0).unwrap();
    assert_eq!(readers.in_child(&readers.mapped), readers.all());
}

#[test]
fn an_index_that_is_renamed_over_or_deleted_stays_for_its_readers() {
    let readers = Readers::new("renamed");
    let other = readers.index.with_extension("other");
    std::fs::write(&other, b"no index at all").unwrap();
    std::fs::rename(&other, &readers.index).unwrap();
    assert_eq!(readers.in_child(&readers.mapped), readers.all());
    std::fs::remove_file(&readers.index).unwrap();
    assert_eq!(readers.in_child(&readers.mapped), readers.all());
    assert_eq!(readers.in_child(&readers.read), readers.all());
}
