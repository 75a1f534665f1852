// For the examples in the documentation, as an expression: a folder that has what the
// recording machine had, testdata/golden/lines.elf as bin/app.
{
    let root = tempfile::tempdir()?;
    std::fs::create_dir(root.path().join("bin"))?;
    let app = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.elf");
    std::fs::copy(app, root.path().join("bin/app"))?;
    root
}
