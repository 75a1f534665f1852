//! Run-time addresses: no system call either, for answers of every kind.

use std::sync::Arc;

use symidx::process::{Modules, Resolver, Unknown};

use crate::without_system_calls;
use crate::world::{STEP, World, first, index_of, publish, resolver, store};

const ID: [u8; 20] = [0xab; 20];

#[test]
fn lookups_by_run_time_address_make_no_system_call() {
    let world = World::new();
    let files = [world.binary("app", &ID), world.binary("none", &[1; 20])];
    publish(&world.path("app.symidx"), &index_of(&ID, 1));
    let mut resolver = resolver(&files, &Arc::new(store(true)));
    assert_eq!(resolver.open_all(), 1);
    without_system_calls(|| {
        let mut right = 0;
        for round in 0..1000 {
            let address = first(0) + round % 0x180;
            let named = resolver.lookup(address).is_ok_and(|found| found.symbol().offset() < 16);
            let framed = resolver.frames(address).is_ok_and(|found| found.frames().count() == 1);
            let called = resolver.lookup_return(address + 1).is_ok();
            let missed = resolver.lookup(first(1)).err() == Some(Unknown::NoIndex)
                && resolver.lookup(round).err() == Some(Unknown::NoModule)
                && resolver.lookup(STEP).err() == Some(Unknown::Gap);
            let counted = resolver.batch([round, address, first(1)], |_, _| {}).resolved() == 1;
            right += u64::from(named && framed && called && missed && counted);
        }
        right == 1000
    });
}

/// The modules of this process, asked from where nothing else is allowed.
#[test]
fn finding_modules_makes_no_system_call() {
    let modules = Modules::capture();
    let resolver = Resolver::new(modules.clone(), Arc::new(store(true)));
    let code = u64::try_from(std::ptr::from_ref(&ID).addr()).unwrap();
    without_system_calls(|| {
        let found = modules.find(code).is_some_and(|located| located.module().range().end > code);
        let unknown = resolver.lookup(code).err() == Some(Unknown::NotOpened);
        found && unknown && modules.find(u64::MAX).is_none()
    });
}
