//! `symidx addr2line` beside GNU addr2line: the same bytes on hits, misses and
//! bad input, and perf's conversation over a pipe.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use common::{addresses, code, program, run, stderr, stdout, symidx, testdata, text};

/// True when the tool to compare with is there.
fn gnu() -> bool {
    let gnu = Command::new("addr2line").arg("--version").output();
    let gnu = gnu.is_ok_and(|output| output.stdout.starts_with(b"GNU addr2line"));
    if !gnu {
        eprintln!("SKIPPED: GNU addr2line is not there; nothing was compared with it");
    }
    gnu
}

/// Standard output, standard error and exit code of one of the two programs.
type Answer = (String, String, i32);

fn answer(mut command: Command, arguments: &[&str], input: &[u8]) -> Answer {
    let mut child = command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // Options that are wrong end the program before it reads.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (stdout(&output), stderr(&output), code(&output))
}

fn ours() -> Command {
    let mut command = symidx();
    command.arg("addr2line");
    command
}

fn theirs() -> Command {
    Command::new("addr2line")
}

/// The same bytes.
fn assert_same(arguments: &[&str], input: &[u8]) {
    let (out, errors, code) = answer(theirs(), arguments, input);
    let (own_out, own_errors, own_code) = answer(ours(), arguments, input);
    // The first line that differs says more than all of them.
    for (number, (own, line)) in (1..).zip(own_out.lines().zip(out.lines())) {
        assert_eq!(own, line, "line {number} of {arguments:?}");
    }
    assert_eq!(own_out.len(), out.len(), "{arguments:?}");
    assert_eq!(own_errors.lines().next(), errors.lines().next(), "{arguments:?}");
    assert_eq!(own_code, code, "{arguments:?}");
}

const FORMS: &[&[&str]] = &[
    &[],
    &["-a"],
    &["-f"],
    &["-i"],
    &["-p"],
    &["-s"],
    &["-afi"],
    &["-afip"],
    &["-fps"],
    &["-aips"],
    &["-afisC"],
    &["--add", "--fun", "--inl", "--pretty-print", "--basenames", "--demangle=gnu-v3"],
];

const WORDS: &[u8] =
    b"main\nmain+4\n main + 4 junk\nabort\nlonely+0x3\nzz\n\n,\n-1\nouter++1\n_start\n\
    0x\n0X10\n10zz\n\x0b10\n1\x000 70\ndeadbeef\n10000000000000000\nmain+010\nmain+-1\n\r\n  \n";

#[test]
fn names_are_those_of_gnu_addr2line() {
    let Some(program) = gnu().then(|| program(&[])).flatten() else { return };
    let addresses = addresses(&program.binary, None, 2);
    for form in FORMS {
        let arguments: Vec<&str> =
            form.iter().copied().chain(["-e", text(&program.binary)]).collect();
        assert_same(&arguments, &addresses);
        assert_same(&arguments, WORDS);
        // Longer than what is read at once, and without an end.
        assert_same(&arguments, format!("{:0300}\n{:099}1\nmain", 0, 0).as_bytes());
        assert_same(&arguments, b"");
    }
    let file = text(&program.binary);
    assert_same(&["-fe", file, "main", "0x1", "zz", "", "main+4"], b"");
    assert_same(&["-afe", file, "-j", ".text", "0", "4", "ffffff", "main"], b"");
}

#[test]
fn sections_of_an_object_are_those_of_gnu_addr2line() {
    let Some(program) = gnu().then(|| program(&[])).flatten() else { return };
    let file = text(&program.object);
    for form in FORMS {
        let bare: Vec<&str> = form.iter().copied().chain(["-e", file]).collect();
        assert_same(&bare, &addresses(&program.object, Some(".text"), 2));
        for section in [".text", ".text.startup", ".text.unlikely", ".data"] {
            let inside: Vec<&str> = bare.iter().copied().chain(["-j", section]).collect();
            assert_same(&inside, &addresses(&program.object, Some(section), 2));
        }
    }
}

#[test]
fn lines_and_inlined_functions_are_those_of_gnu_addr2line() {
    for format in ["-gdwarf-5", "-gdwarf-4"] {
        let Some(program) = gnu().then(|| program(&["-g", format])).flatten() else { return };
        let file = text(&program.binary);
        let place = run(["addr2line", "-ie", file, "outer+8"]);
        assert!(stdout(&place).lines().count() == 3, "no inlined functions: {}", stdout(&place));
        for form in FORMS {
            let arguments: Vec<&str> = form.iter().copied().chain(["-e", file]).collect();
            assert_same(&arguments, &addresses(&program.binary, None, 2));
            assert_same(&arguments, WORDS);
            for section in [".text", ".text.startup", ".text.unlikely"] {
                let object = ["-e", text(&program.object), "-j", section];
                let inside: Vec<&str> = form.iter().copied().chain(object).collect();
                assert_same(&inside, &addresses(&program.object, Some(section), 2));
            }
        }
    }
}

/// A section that is not in memory is one, too.
#[test]
fn sections_that_are_not_in_memory_are_those_of_gnu_addr2line() {
    let Some(program) = gnu().then(|| program(&["-g"])).flatten() else { return };
    for file in [text(&program.binary), text(&program.object)] {
        for section in [".comment", ".debug_info", ".symtab", ".shstrtab", ".rela.text"] {
            for word in ["0", "10", "ffffffff", "main", "zz"] {
                assert_same(&["-afip", "-e", file, "-j", section, word], b"");
            }
        }
    }
}

/// The symbol table has local functions in files, and all of them where there is
/// one file. An index alone knows of none.
#[test]
fn files_of_functions_without_lines_are_those_of_gnu_addr2line() {
    let Some(program) = gnu().then(|| program(&[])).flatten() else { return };
    let object = text(&program.object);
    let place = stdout(&run(["addr2line", "-e", object, "-j", ".text", "0"]));
    assert!(place.ends_with(".c:?\n"), "{place}");
    assert_same(&["-e", object, "-j", ".text", "0"], b"");
    let directory = tempfile::tempdir().unwrap();
    let index = directory.path().join("o.symidx");
    assert_eq!(code(&run(["build", "-q", object, "-o", text(&index)])), 0);
    let place = stdout(&run(["addr2line", "-e", text(&index), "-j", ".text", "0"]));
    assert_eq!(place, "??:?\n");
}

/// One unit of C++ by hand: two functions whose names are not the linker's, one
/// inlined; an origin that leads to an origin; rows that begin in no stated file.
const BY_HAND: &str = r#"
    .text
    .globl symbol
    .type symbol, @function
symbol:
    .skip 8, 0x90
    .size symbol, .-symbol
    .section .debug_abbrev, "", @progbits
    .uleb128 1, 0x11
    .byte 1
    .uleb128 0x13, 0x0b, 0x10, 0x17, 0x11, 1, 0x12, 7, 0x1b, 8, 0, 0
    .uleb128 2, 0x2e
    .byte 1
    .uleb128 3, 8, 0x11, 1, 0x12, 7, 0, 0
    .uleb128 3, 0x1d
    .byte 0
    .uleb128 3, 8, 0x11, 1, 0x12, 7, 0x58, 0x0b, 0x59, 0x0b, 0, 0
    .uleb128 4, 0x1d
    .byte 0
    .uleb128 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0
    .uleb128 5, 0x2e
    .byte 0
    .uleb128 0x31, 0x13, 0, 0
    .uleb128 6, 0x2e
    .byte 0
    .uleb128 0x6e, 8, 0, 0
    .byte 0
    .section .debug_info, "", @progbits
.Lunit:
    .long .Lend - .Lstart
.Lstart:
    .value 5
    .byte 1, 8
    .long .debug_abbrev
    .uleb128 1
    .byte 4
    .long .debug_line
    .quad symbol, 8
    .asciz "rel"
    .uleb128 2
    .asciz "own"
    .quad symbol, 8
    .uleb128 3
    .asciz "inlined"
    .quad symbol + 2, 2
    .byte 2, 7
    .uleb128 4
    .long .Lclone - .Lunit
    .quad symbol + 4, 1
    .byte 0
.Lclone:
    .uleb128 5
    .long .Llinkage - .Lunit
.Llinkage:
    .uleb128 6
    .asciz "linkage"
    .byte 0
.Lend:
    .section .debug_line, "", @progbits
    .long .Llines - .Lhead
.Lhead:
    .value 5
    .byte 8, 0
    .long .Lprogram - .Ltables
.Ltables:
    .byte 1, 1, 1, -5, 14, 13
    .byte 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1
    .byte 1
    .uleb128 1, 8, 1
    .asciz "rel"
    .byte 2
    .uleb128 1, 8, 2, 0x0b, 3
    .asciz "zero.cc"
    .byte 0
    .asciz "one.cc"
    .byte 0
    .asciz "two.cc"
    .byte 0
.Lprogram:
    .byte 0, 9, 2
    .quad symbol
    .byte 1
    .byte 2, 4, 1
    .byte 4, 1
    .byte 0, 2, 4, 9
    .byte 1
    .byte 2, 4
    .byte 0, 1, 1
.Llines:
"#;

/// The first question about a function is answered with the symbol's name, later
/// ones with its own; a sequence begins in the first file; a relative directory is
/// there twice; the origin of an origin is not followed.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn names_files_and_discriminators_follow_the_rules() {
    if program(&[]).is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, object) = (directory.path().join("x.s"), directory.path().join("x.o"));
    std::fs::write(&source, BY_HAND).unwrap();
    let mut compile = Command::new("cc");
    compile.arg("-c").arg(&source).arg("-o").arg(&object);
    assert!(compile.status().unwrap().success());
    let arguments = ["-fie", text(&object)];
    let asked = b"2\n2\n4\n0\n6\n";
    let (out, ..) = answer(ours(), &arguments, asked);
    let lines: Vec<&str> = out.lines().collect();
    let expected = [
        ["symbol", "rel/rel/zero.cc:1", "own", "rel/rel/two.cc:7"],
        ["inlined", "rel/rel/zero.cc:1", "own", "rel/rel/two.cc:7"],
    ];
    assert_eq!(lines[..8], expected.concat());
    assert_eq!(lines[8..10], ["symbol", "rel/rel/one.cc:1 (discriminator 9)"]);
    if gnu() {
        assert_same(&arguments, asked);
        assert_same(&["-afip", "-e", text(&object)], asked);
    }
}

/// Functions and labels that begin together, of every order of a few sizes.
#[test]
fn of_functions_that_begin_together_gnu_addr2line_s_is_taken() {
    if !gnu() || program(&[]).is_none() {
        return;
    }
    let mut text_of = String::from(".text\n");
    let mut asked = String::new();
    let sizes = [0, 1, 4, 8];
    for (first, second, types) in sizes.iter().flat_map(|first| {
        sizes.iter().flat_map(move |second| (0..4).map(move |types| (first, second, types)))
    }) {
        let start = asked.lines().count() / 3 * 16;
        for (place, size) in [first, second].into_iter().enumerate() {
            let name = format!("s{start}_{place}");
            text_of += &format!(".globl {name}\n{name}:\n.size {name}, {size}\n");
            if types >> place & 1 == 0 {
                text_of += &format!(".type {name}, @function\n");
            }
        }
        text_of += ".fill 16, 1, 0x90\n";
        asked += &[0, 5, 9].map(|offset| format!("{:x}\n", start + offset)).concat();
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, object) = (directory.path().join("x.s"), directory.path().join("x.o"));
    std::fs::write(&source, text_of).unwrap();
    let mut compile = Command::new("cc");
    compile.arg("-c").arg(&source).arg("-o").arg(&object);
    assert!(compile.status().unwrap().success());
    assert_same(&["-afe", text(&object)], asked.as_bytes());
    let mut last: Vec<_> = asked.lines().collect();
    last.reverse();
    assert_same(&["-afe", text(&object)], last.join("\n").as_bytes());
}

/// Data is found where it is declared, at the first byte of its symbol.
#[test]
fn data_is_that_of_gnu_addr2line() {
    let Some(program) = gnu().then(|| program(&["-g"])).flatten() else { return };
    let file = text(&program.binary);
    for form in FORMS {
        let arguments: Vec<&str> = form.iter().copied().chain(["-e", file]).collect();
        assert_same(
            &arguments,
            b"data_start\n_IO_stdin_used\n__bss_start\n_edata\n_end\ntable\ntable+1\n",
        );
    }
}

#[test]
fn complaints_and_exit_codes_are_those_of_gnu_addr2line() {
    let Some(program) = gnu().then(|| program(&[])).flatten() else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = text(&program.binary);
    let path = |name: &str| text(&directory.path().join(name)).to_owned();
    std::fs::write(path("text"), "no binary\n").unwrap();
    std::fs::write(path("empty"), "").unwrap();
    std::fs::write(path("archive"), "!<arch>\n").unwrap();
    let whole = std::fs::read(file).unwrap();
    std::fs::write(path("cut"), &whole[..whole.len() - 1]).unwrap();
    std::fs::write(path("start"), &whole[..64]).unwrap();
    std::fs::write(path("words"), format!("-f -e\n{file} 'main'\n")).unwrap();
    let words = format!("@{}", path("words"));
    for arguments in [
        &["-e", "no-such-file", "1"][..],
        &["-e", &path("text"), "1"],
        &["-e", &path("empty"), "1"],
        &["-e", &path("archive"), "1"],
        &["-e", &path(""), "1"],
        &["-e", &path("cut"), "1"],
        &["-fe", &path("start"), "main"],
        &["-e", &path("text/below"), "1"],
        &["-b", "binary", "-afe", file, "main", "1"],
        &["-e", "/dev/null", "1"],
        &["-e", file, "-j", ".nothing", "1"],
        &["-e", file, "-z", "1"],
        &["-e", file, "--zz", "1"],
        &["-e", file, "--functions=1", "1"],
        &["-e", file, "--demangle=foo", "1"],
        &["-e", file, "--section"],
        &["-fe"],
        &["main", "-f", "--exe", file, "--", "-1", "--zz"],
        &["-Rrfb", "elf64-x86-64", "-e", file, "main"],
        &["-b", "elf64-x86-65", "-e", file, "main"],
        &["--target=", "-e", file, "main"],
        &["-b", "nonsense", "-e", "no-such-file", "1"],
        &["-b", "nonsense", "-e", &path("text"), "1"],
        &[&words],
        &["@no-such-file", "-e", file],
    ] {
        assert_same(arguments, b"main\n");
    }
}

#[cfg(unix)]
#[test]
fn the_name_of_the_program_makes_the_call() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("x86_64-linux-gnu-addr2line");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_symidx"), &link).unwrap();
    let file = testdata("elf/zero-size/z.exe");
    let output = Command::new(&link).args(["-fe", text(&file), "401058"]).output().unwrap();
    assert_eq!(stdout(&output), "mid_label\n??:?\n");
    assert_eq!(stderr(&output), "");
    let output = Command::new(&link).args(["-e", "no-such-file"]).output().unwrap();
    assert_eq!(stderr(&output), format!("{}: 'no-such-file': No such file\n", link.display()));
    for arguments in [&["addr2line", "--help"][..], &["-q", "addr2line", "-H"]] {
        let output = run(arguments);
        assert_eq!(code(&output), 0);
        assert!(stdout(&output).contains("EXAMPLES"), "{}", stdout(&output));
    }
    assert!(stdout(&run(["addr2line", "-v"])).starts_with("symidx addr2line "));
}

#[test]
fn addresses_of_a_32_bit_file_have_32_bits() {
    let file = testdata("elf/plt/i386.so");
    for address in ["1ffffffff", "80000000", "zz"] {
        let arguments = ["-ae", text(&file), address];
        let width = stdout(&run(["addr2line"].iter().chain(&arguments)));
        assert_eq!(width.lines().next().map(str::len), Some(10), "{width}");
        if gnu().then(|| program(&[])).flatten().is_some() {
            assert_same(&arguments, b"");
        }
    }
}

/// perf asks for an address and then for `,`, which nobody knows, to see where
/// the answer ends. It waits for the whole answer before it asks on.
#[test]
fn perf_holds_a_conversation() {
    let file = testdata("elf/zero-size/z.exe");
    for flags in ["-aif", "-if"] {
        let mut child = ours()
            .args(["-e", text(&file), flags])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut questions = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut line = || {
            let mut line = String::new();
            answers.read_line(&mut line).unwrap();
            line
        };
        let with_addresses = flags.contains('a');
        // The style is found out by the sentinel alone.
        questions.write_all(b",\n").unwrap();
        let sentinel: &[&str] = match with_addresses {
            true => &["0x0000000000000000\n", "??\n", "??:0\n"],
            false => &["??\n", "??:0\n"],
        };
        sentinel.iter().for_each(|expected| assert_eq!(line(), *expected));
        for (address, name, place) in
            [(0x40_1058_u64, "mid_label\n", "??:?\n"), (0x10, "??\n", "??:0\n")]
        {
            writeln!(questions, "{address:016x}\n,").unwrap();
            if with_addresses {
                assert_eq!(line(), format!("{address:#018x}\n"));
            }
            assert_eq!(line(), name);
            assert_eq!(line(), place);
            sentinel.iter().for_each(|expected| assert_eq!(line(), *expected));
        }
        drop(questions);
        assert!(child.wait().unwrap().success());
    }
}
