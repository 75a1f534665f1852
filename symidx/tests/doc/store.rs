// For the examples in the documentation, as an expression: a folder with the index of
// testdata/golden/lines.elf, by its build-id, and a store that looks there alone.
{
    let directory = tempfile::tempdir()?;
    let place = directory.path().join(".build-id/11");
    std::fs::create_dir_all(&place)?;
    let index = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.symidx");
    std::fs::copy(index, place.join("22334455667788.symidx"))?;
    let store = symidx::process::Store::read().without_default_places();
    let store = store.with_directory(directory.path());
    (directory, store)
}
