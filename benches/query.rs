//! What a query costs, on one index, in one process:
//!
//! - `open/map`: open, map, check, unmap; no part of it depends on the file's size.
//! - `open/bytes`: the checks alone.
//! - `lookup/hit`, `lookup/miss`, `lookup/profile`: one address in random order; a
//!   miss must not cost more than a hit.
//! - `lookup/hit+name`: the name's bytes read too, which is one cache miss more.
//! - `lookup/sorted`: the profile's addresses in order, by merge walk.
//! - `find/hit`, `find/miss`: one name.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use symidx::{Index, Svma};
use symidx_benches::{addresses, build};

fn queries(c: &mut Criterion) {
    let (path, _directory) = build().unwrap();
    // SAFETY: the file is this process's own and is not written again.
    let index = unsafe { Index::map(&path) }.unwrap();
    let lists = addresses(&index, 100_000).unwrap();
    let bytes = std::fs::read(&path).unwrap();

    let mut group = c.benchmark_group("open");
    group.bench_function("map", |b| {
        // SAFETY: as above.
        b.iter(|| black_box(unsafe { Index::map(&path) }.unwrap()));
    });
    group.bench_function("bytes", |b| b.iter(|| black_box(Index::from_bytes(&bytes).unwrap())));
    group.finish();

    let mut group = c.benchmark_group("lookup");
    group.throughput(Throughput::Elements(100_000));
    let start = |address: Svma| index.lookup(address).unwrap().map_or(0, |s| s.start().0);
    for (name, list) in [("hit", &lists.hits), ("miss", &lists.misses), ("profile", &lists.profile)]
    {
        group.bench_function(name, |b| {
            b.iter(|| list.iter().fold(0, |sum: u64, &a| sum.wrapping_add(start(black_box(a)))));
        });
    }
    group.bench_function("hit+name", |b| {
        b.iter(|| {
            lists.hits.iter().fold(0u64, |sum, &address| {
                let symbol = index.lookup(black_box(address)).unwrap().unwrap();
                let name = symbol.name();
                let bytes = name.as_bytes().unwrap();
                sum.wrapping_add(bytes.iter().map(|&byte| u64::from(byte)).sum())
            })
        });
    });
    group.bench_function("sorted", |b| {
        b.iter(|| {
            let sorted = black_box(&lists.sorted).iter().copied();
            index
                .lookup_sorted(sorted)
                .fold(0u64, |sum, s| sum.wrapping_add(s.unwrap().map_or(0, |s| s.start().0)))
        });
    });
    group.finish();

    let names: Vec<Vec<u8>> = lists
        .hits
        .iter()
        .take(10_000)
        .map(|&a| index.lookup(a).unwrap().unwrap().name().as_bytes().unwrap().to_vec())
        .collect();
    let absent: Vec<Vec<u8>> = names.iter().map(|name| [name, &b"\x01"[..]].concat()).collect();
    let mut group = c.benchmark_group("find");
    group.throughput(Throughput::Elements(10_000));
    for (name, list) in [("hit", &names), ("miss", &absent)] {
        group.bench_function(name, |b| {
            b.iter(|| list.iter().map(|n| index.find(black_box(n)).count()).sum::<usize>());
        });
    }
    group.finish();
}

criterion_group!(benches, queries);
criterion_main!(benches);
