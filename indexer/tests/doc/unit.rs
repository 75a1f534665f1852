// For the examples in the documentation, as an expression: that image, a report, and what
// DWARF says of the image's first unit.
{
    let image = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/image.rs"));
    let mut report = symidx_indexer::model::Report::default();
    let units = symidx_indexer::input::dwarf::Units::open(&image.debug[0], &mut report);
    let unit = units.read(0, &mut report);
    drop(units);
    (image, report, unit)
}
