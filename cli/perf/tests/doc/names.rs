// For the examples in the documentation, as an expression: names from a store that has
// the index of testdata/golden/lines.elf, and the folder with it.
{
    let directory = tempfile::tempdir()?;
    let place = directory.path().join(".build-id/11");
    std::fs::create_dir_all(&place)?;
    let index = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.symidx");
    std::fs::copy(index, place.join("22334455667788.symidx"))?;
    let mut options = symidx_perf::NameOptions::default();
    options.stores.push(directory.path().to_owned());
    (directory, symidx_perf::Names::new(options))
}
