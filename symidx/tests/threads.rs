//! One index, many threads: shared, sent, and outliving what it was made from.

#![cfg(feature = "std")]
#![allow(clippy::expect_used, clippy::unwrap_used)]

use symidx::{Index, Name, Sorted, Svma, Symbol};

const BYTES: &[u8] = include_bytes!("../../testdata/golden/rich.symidx");

const fn shared<T: Send + Sync>() {}

/// Checked by the compiler; nothing to run.
const _: () = {
    shared::<Index<'static>>();
    shared::<Symbol<'static>>();
    shared::<Name<'static>>();
    shared::<symidx::Match<'static>>();
    shared::<Sorted<'static, std::vec::IntoIter<Svma>>>();
    shared::<symidx::OpenError>();
    shared::<symidx::Violation>();
    shared::<symidx::Corrupt>();
};

#[test]
fn all_threads_get_the_same_answers() {
    let index = Index::from_bytes(BYTES).unwrap();
    let answers = |index: &Index<'_>| -> Vec<Option<String>> {
        let addresses = 0x400f00..0x401300;
        let name = |address| index.lookup(Svma(address)).unwrap().map(|s| s.name().to_string());
        addresses.map(name).collect()
    };
    let expected = answers(&index);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| answers(&index))).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("no panic"), expected);
        }
    });
}

/// The owner moves with the index, the bytes stay: see `src/sys/files.rs`.
#[test]
fn an_owned_index_may_move_and_be_sent() {
    let index = Index::from_vec(BYTES.to_vec()).unwrap();
    let boxed = Box::new(index);
    let thread = std::thread::spawn(move || {
        let index = *boxed;
        let name = index.lookup(Svma(0x401018)).unwrap().map(|symbol| symbol.name().to_string());
        (index, name)
    });
    let (index, name) = thread.join().expect("no panic");
    assert_eq!(name.as_deref(), Some("function_1"));
    assert_eq!(index.find(b"outer").count(), 1);
}
