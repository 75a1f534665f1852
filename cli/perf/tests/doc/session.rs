// For the examples in the documentation, as an expression: that recording, opened.
{
    let bytes: Vec<u8> = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/recording.rs"));
    symidx_perf::Session::new(symidx_perf::Reader::from_stream(std::io::Cursor::new(bytes))?)
}
