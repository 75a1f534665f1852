// For the examples in the documentation, as an expression: the layout of that image.
{
    let (image, normalised) =
        include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/normalised.rs"));
    let (lines, options) = (Default::default(), Default::default());
    symidx_indexer::layout::plan(&image, normalised, lines, options, &mut Default::default())?
}
