// For the examples in the documentation, as an expression: the bytes of a recording, as
// `perf record -o -` writes it. One sample of a thread `worker` of process 7, which has
// testdata/golden/lines.elf mapped as /bin/app.
{
    let record = |kind: u32, misc: u16, body: &[&[u8]]| {
        let body = body.concat();
        let size = u16::try_from(body.len() + 8).unwrap();
        [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), &body].concat()
    };
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    // Process and thread 7, at this time.
    let thread = words(&[7 << 32 | 7]);
    let when = |time: u64| [thread.clone(), words(&[time])].concat();
    let attr = words(&[64 << 32 | 1, 0, 4000, 0x27, 0, 1 << 18, 0, 0, 0]);
    let path = *b"/bin/app\0\0\0\0\0\0\0\0";
    let id = *b"\x11\x22\x33\x44\x55\x66\x77\x88\0\0\0\0\0\0\0\0\0\0\0\0\x14\0\0\0";
    let (start, user) = (0x5555_0000_0000, u64::MAX - 511);
    let stack = [start + 0x1a8, 7 << 32 | 7, 2_000, 3, user, start + 0x1a8, start + 0x225];
    [
        [&b"PERFILE2"[..], &words(&[16])].concat(),
        record(64, 0, &[&attr]),
        record(67, 2, &[&[0; 4], &id, &path]),
        record(3, 0, &[&thread, b"worker\0\0", &when(1_000)]),
        record(10, 2, &[&thread, &words(&[start, 0x1000, 0, 0, 0, 0, 2 << 32 | 5]), &path, &when(1_000)]),
        record(9, 2, &[&words(&stack)]),
    ]
    .concat()
}
