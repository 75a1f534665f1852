//! What a build costs: the whole chain from the file's path to the published
//! index (`file`, with fsync), to bytes in memory (`memory`), and finding out
//! that nothing is to be done (`fresh`, which hashes the input).
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use symidx_benches::{binary, options};
use symidx_indexer::{BuildOptions, build_bytes, build_file};

fn indexing(c: &mut Criterion) {
    let binary = binary().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("bench.symidx");
    let mut group = c.benchmark_group("build");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(std::fs::metadata(&binary).unwrap().len()));
    group.bench_function("file", |b| {
        b.iter(|| build_file(&binary, &output, &options()).unwrap());
    });
    group.bench_function("memory", |b| b.iter(|| build_bytes(&binary, &options()).unwrap()));
    build_file(&binary, &output, &options()).unwrap();
    group.bench_function("fresh", |b| {
        b.iter(|| build_file(&binary, &output, &BuildOptions::default()).unwrap());
    });
    group.finish();
}

criterion_group!(benches, indexing);
criterion_main!(benches);
