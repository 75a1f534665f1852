// For the examples in the documentation, as an expression: the same, symbolized.
{
    let mut profile = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/raw.rs"));
    let index = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/lines.symidx");
    let index = symidx::Index::read(index)?;
    symidx_pprof::Symbolizer::new().run(&mut profile, |_| Ok(&index));
    profile
}
