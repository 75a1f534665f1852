// For the examples in the documentation, as an expression: a profile of one stack, not
// symbolized, of a process that has testdata/golden/lines.elf mapped at 0x5555_0000_0000.
{
    use symidx_pprof::{Leaf, Module, Writer};
    let mut writer = Writer::new([("samples", "count"), ("cpu", "nanoseconds")]);
    writer.module(&Module {
        start: 0x5555_0000_0000,
        limit: 0x5555_0000_1000,
        file_offset: 0,
        filename: "/bin/app",
        build_id: &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88],
    });
    writer.sample(&[0x5555_0000_01a8, 0x5555_0000_0225], Leaf::Instruction, [3, 30_000]);
    writer.finish()
}
