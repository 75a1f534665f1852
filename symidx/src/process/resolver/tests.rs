//! What every user of a resolver relies on without asking.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::process::{Located, Module, Resolved, ResolvedFrames, Statistics, Unknown};

const fn shared<T: Send + Sync>() {}

/// Handed from thread to thread, and read by several.
const _: () = {
    shared::<Resolver>();
    shared::<Modules>();
    shared::<Store>();
    shared::<Module>();
    shared::<Budget>();
    shared::<Located<'_>>();
    shared::<Resolved<'_>>();
    shared::<ResolvedFrames<'_>>();
    shared::<Statistics>();
    shared::<Missing>();
    shared::<Unknown>();
};

/// Each module of thousands was compared with every one before it.
#[test]
fn a_budget_of_many_modules_is_quick() {
    use std::fmt::Write as _;
    let mut text = std::string::String::new();
    for number in 1..=60_000u64 {
        let start = number << 16;
        writeln!(text, "{start:x}-{:x} r-xp 0 08:01 7 /nowhere/{number}", start | 0x1000).unwrap();
    }
    let modules = Modules::from_maps(text.as_bytes()).unwrap();
    let store = Arc::new(Store::read().without_default_places());
    let start = std::time::Instant::now();
    let budget = Resolver::new(modules, store).budget();
    assert_eq!(budget.modules.len(), 60_000);
    assert!(budget.modules.iter().all(|module| module.index == Err(Missing::NotFound)));
    // 1.8 thousand million comparisons take longer on any machine.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn modules_that_are_not_there_have_neither_index_nor_reason() {
    let modules = Modules::from_maps(b"").unwrap();
    let mut resolver = Resolver::new(modules, Arc::new(Store::read()));
    assert_eq!((resolver.open_all(), resolver.open_for(&[0, 5, u64::MAX])), (0, 0));
    assert!(resolver.index(0).is_none() && resolver.missing(u32::MAX).is_none());
    let budget = resolver.budget();
    assert!(budget.modules.is_empty() && budget.mapped_bytes == 0);
}
