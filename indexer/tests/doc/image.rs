// For the examples in the documentation, as an expression: testdata/golden/lines.elf, read.
{
    let app = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf");
    let store: &'static symidx_indexer::model::Store = Box::leak(Box::default());
    symidx_indexer::input::read(app.as_ref(), store, &Default::default())?
}
