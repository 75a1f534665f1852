// For the examples in the documentation, as an expression: the modules of a process that
// has testdata/golden/lines.elf mapped at 0x5555_0000_0000.
{
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/lines.elf");
    let file = std::fs::canonicalize(file)?;
    let inode = std::os::unix::fs::MetadataExt::ino(&file.metadata()?);
    let file = file.display();
    let text = format!("555500000000-555500001000 r-xp 00000000 08:01 {inode} {file}\n");
    symidx::process::Modules::from_maps(text.as_bytes())?
}
