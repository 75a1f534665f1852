// For the examples in the documentation, as an expression: that image, its symbols settled.
{
    let mut image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
    let normalised = symidx_indexer::normalise::normalise(&mut image, Default::default());
    (image, normalised)
}
