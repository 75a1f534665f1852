//! `symidx build` as pipelines use it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong should stop"
)]

mod common;

use std::path::Path;

use common::{code, copied, json, kallsyms, program, run, stderr, stdout, symidx, testdata, text};

#[test]
fn json_has_every_key_of_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    let binary = copied("elf/zero-size/z.exe", directory.path());
    let index = directory.path().join("z.exe.symidx");
    for status in ["built", "fresh"] {
        let output = run(["build", text(&binary), "--json"]);
        assert_eq!(code(&output), 0);
        let keys = [
            "input",
            "output",
            "status",
            "id",
            "symbols",
            "aliases",
            "functions",
            "line_rows",
            "inlined_functions",
            "bytes",
            "input_bytes",
            "seconds",
            "peak_anon_bytes",
            "skipped",
            "warnings",
            "error",
        ];
        let line = stdout(&output);
        let mut after = 0;
        for key in keys {
            let at = line.find(&format!("\"{key}\":")).unwrap();
            assert!(at >= after, "{key} is out of order: {line}");
            after = at;
        }
        let object = json(&output).remove(0);
        assert_eq!(object.as_object().unwrap().len(), keys.len());
        assert_eq!(object["status"], status);
        assert_eq!(object["output"], text(&index));
        assert_eq!(object["error"], serde_json::Value::Null);
        assert!(object["symbols"].as_u64().unwrap() > 0);
        assert_eq!(object["bytes"], std::fs::metadata(&index).unwrap().len());
    }
    let output = run(["build", text(&binary), "--json", "--force"]);
    assert_eq!(json(&output)[0]["status"], "built");
    let output = run(["build", text(&binary)]);
    assert_eq!(stdout(&output), format!("{}: up to date\n", index.display()));
}

#[test]
fn one_failed_input_does_not_stop_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let good = copied("elf/zero-size/z.exe", directory.path());
    let bad = directory.path().join("bad");
    std::fs::write(&bad, "text").unwrap();
    let output = run(["build", text(&bad), "/no/such/file", text(&good), "--json"]);
    assert_eq!(code(&output), 1);
    let statuses: Vec<_> = json(&output).iter().map(|object| object["status"].clone()).collect();
    assert_eq!(statuses, ["failed", "failed", "built"]);
    assert!(json(&output)[0]["error"].as_str().unwrap().contains("expected an ELF file"));
    assert_eq!(stderr(&output).lines().count(), 2);
}

#[test]
fn no_symbols_at_all_exit_3_unless_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let stripped = directory.path().join("stripped");
    // A program header and nothing else.
    let mut bytes = vec![0u8; 120];
    bytes[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x00");
    for (at, value) in [
        (16, 2),
        (18, 62),
        (20, 1),
        (32, 64),
        (52, 64),
        (54, 56),
        (56, 1),
        (64, 1),
        (68, 5),
        (96, 120),
        (104, 120),
    ] {
        bytes[at] = value;
    }
    std::fs::write(&stripped, bytes).unwrap();
    let output = run(["build", text(&stripped)]);
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("expected symbols"));
    assert!(!directory.path().join("stripped.symidx").exists());
    let output = run(["build", text(&stripped), "--allow-empty"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn an_output_that_would_destroy_something_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let binary = copied("elf/zero-size/z.exe", directory.path());
    let before = std::fs::read(&binary).unwrap();
    let link = directory.path().join("link");
    std::fs::hard_link(&binary, &link).unwrap();
    for output in [&binary, &link, Path::new("/dev/null"), directory.path()] {
        let done = run(["build", text(&binary), "-o", text(output)]);
        assert_eq!(code(&done), 1, "{}", output.display());
        assert_eq!(stderr(&done).lines().count(), 1);
    }
    assert_eq!(std::fs::read(&binary).unwrap(), before);
    assert_eq!(code(&run(["build", text(&binary), text(&link), "-o", "x"])), 2);
}

#[test]
fn directories_are_walked_in_order_and_links_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    std::fs::create_dir_all(tree.join("b")).unwrap();
    let first = copied("elf/zero-size/z.exe", &tree.join("b"));
    let second = copied("elf/nested-overlap/n.exe", &tree);
    std::fs::write(tree.join("a.txt"), "no binary").unwrap();
    std::fs::write(tree.join("Main.class"), b"\xca\xfe\xba\xbe\x00\x00\x00\x34rest").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&tree, tree.join("loop")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&second, tree.join("a-link")).unwrap();
    let output = run(["build", text(&tree), "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let inputs: Vec<_> = json(&output).iter().map(|object| object["input"].clone()).collect();
    assert_eq!(inputs, [text(&first), text(&second)]);
}

#[test]
fn the_store_is_laid_out_by_identity() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    let macho = testdata("macho/fat/fat3.macho");
    let output = run(["build", text(&macho), "--all-archs", "--store", text(&store), "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let outputs: Vec<_> =
        json(&output).iter().map(|object| object["output"].as_str().unwrap().to_owned()).collect();
    assert_eq!(outputs.len(), 3);
    assert!(
        outputs.iter().all(|output| output.contains("/.build-id/") && output.ends_with(".symidx"))
    );
    assert!(
        outputs
            .iter()
            .any(|output| output.ends_with("/.build-id/22/222222222222222222222222222222.symidx"))
    );
    // The same bytes twice, and -o together with the store.
    let binary = copied("elf/zero-size/z.exe", directory.path());
    let again = directory.path().join("again.exe");
    std::fs::copy(&binary, &again).unwrap();
    let output = run(["build", text(&binary), text(&again), "--store", text(&store), "--json"]);
    assert_eq!(json(&output)[0]["status"], "built");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(json(&output)[0]["output"], json(&output)[1]["output"]);
    assert_eq!(json(&output)[1]["status"], "fresh");
    assert!(json(&output)[1]["warnings"][0].as_str().unwrap().contains("the same bytes"));
    let own = directory.path().join("own.symidx");
    let output = run(["build", text(&binary), "--store", text(&store), "-o", text(&own)]);
    assert_eq!(code(&output), 0);
    assert!(own.is_file());
}

#[test]
fn slices_are_chosen_and_never_guessed() {
    let directory = tempfile::tempdir().unwrap();
    let fat = copied("macho/fat/fat3.macho", directory.path());
    let output = run(["build", text(&fat)]);
    assert_eq!(code(&output), 1);
    for arch in ["x86_64", "arm64", "arm64e"] {
        assert!(stderr(&output).contains(arch), "{}", stderr(&output));
    }
    let output = run(["build", text(&fat), "--all-archs", "-q"]);
    assert_eq!(code(&output), 0);
    for arch in ["x86_64", "arm64", "arm64e"] {
        let index = directory.path().join(format!("fat3.macho.{arch}.symidx"));
        let verified = run(["verify", text(&index), "--against", text(&fat)]);
        assert_eq!(code(&verified), 0, "{}", stderr(&verified));
    }
    let output = run(["lookup", text(&fat), "--arch", "arm64e", "0x100000f00"]);
    assert_eq!(stdout(&output), "0x100000f00 e_first+0x0\n");
    assert_eq!(stderr(&output), "", "the index of the slice is used");
}

#[test]
fn a_depfile_names_every_file_read() {
    let directory = tempfile::tempdir().unwrap();
    let odd = directory.path().join("a b#c$d");
    std::fs::create_dir(&odd).unwrap();
    let binary = copied("elf/zero-size/z.exe", &odd);
    let depfile = directory.path().join("deps.d");
    let output = run(["build", text(&binary), "--depfile", text(&depfile), "--print-inputs"]);
    assert_eq!(stdout(&output), format!("{}\n", binary.display()));
    let rule = std::fs::read_to_string(&depfile).unwrap();
    let base = directory.path().display();
    assert_eq!(
        rule,
        format!("{base}/a\\ b\\#c$$d/z.exe.symidx: \\\n  {base}/a\\ b\\#c$$d/z.exe\n")
    );
}

#[test]
fn threads_and_memory_bounds_do_not_change_a_byte() {
    let directory = tempfile::tempdir().unwrap();
    let mut inputs = Vec::new();
    for n in 0..12 {
        let input = directory.path().join(format!("kallsyms{n}"));
        let names: Vec<String> = (0..500).map(|i| format!("function_{n}_{i}")).collect();
        let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        kallsyms(&names, &input);
        inputs.push(input);
    }
    inputs.push(copied("golden/lines.elf", directory.path()));
    inputs.push(copied("elf/split/zlib/app", directory.path()));
    let mut results = Vec::new();
    for options in
        [&["-j", "1"][..], &["-j", "8"], &["-j", "64"], &[], &["-j", "8", "--max-memory", "1M"]]
    {
        let mut command = symidx();
        command.args(["build", "--force", "-q"]).args(options).args(&inputs);
        assert_eq!(code(&command.output().unwrap()), 0);
        let bytes: Vec<_> = inputs
            .iter()
            .map(|input| std::fs::read(format!("{}.symidx", input.display())).unwrap())
            .collect();
        results.push(bytes);
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

/// Symbols and lines take what they take: where that passes the bound it is said, and
/// the bytes, which know the number of warnings, are the same.
#[test]
fn a_build_that_passes_the_bound_on_memory_is_told_of() {
    let directory = tempfile::tempdir().unwrap();
    let input = copied("golden/lines.elf", directory.path());
    let output = directory.path().join("lines.elf.symidx");
    let build = |bound: &str| {
        let done = run(["build", "--force", "--max-memory", bound, text(&input)]);
        assert_eq!(code(&done), 0);
        (stderr(&done), std::fs::read(&output).unwrap())
    };
    let (told, bytes) = build("1K");
    assert!(
        told.contains("lines.elf: ") && told.contains("expected 1024 bytes of memory"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1);
    assert_eq!(build("100M"), (String::new(), bytes));
}

#[test]
fn a_jobserver_without_tokens_leaves_one_worker() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: mkfifo is not there");
        return;
    }
    let inputs: Vec<_> = (0..4)
        .map(|n| {
            let input = directory.path().join(format!("k{n}"));
            kallsyms(&[b"a", b"b"], &input);
            input
        })
        .collect();
    let output = symidx()
        .env("MAKEFLAGS", format!("-j2 --jobserver-auth=fifo:{}", fifo.display()))
        .args(["build", "-q", "-j", "4"])
        .args(&inputs)
        .output()
        .unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn a_depfile_replaces_no_input_index_or_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let binary = copied("elf/zero-size/z.exe", directory.path());
    let before = std::fs::read(&binary).unwrap();
    let build = |output: &str, depfile: &str| {
        let mut command = symidx();
        command.current_dir(directory.path());
        command.args(["build", "z.exe", "-o", output, "--depfile", depfile]).output().unwrap()
    };
    for (depfile, what) in [("./z.exe", "an input"), ("out", "an index"), ("./out", "an index")] {
        let output = build("out", depfile);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(what), "{}", stderr(&output));
        assert_eq!(std::fs::read(&binary).unwrap(), before);
    }
    let output = build("out", "/dev/stdout");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).ends_with("out: \\\n  z.exe\n"), "{}", stdout(&output));
    assert!(std::fs::symlink_metadata("/dev/stdout").unwrap().is_symlink());
    // A Makefile cannot hold it, and would read another rule in it.
    let output = build("a\nall: evil", "d");
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("line feed"), "{}", stderr(&output));
    assert!(!directory.path().join("d").exists());
}

#[test]
fn an_output_replaces_no_other_input() {
    let directory = tempfile::tempdir().unwrap();
    let first = copied("elf/zero-size/z.exe", directory.path());
    let second = directory.path().join("z.exe.symidx");
    std::fs::copy(&first, &second).unwrap();
    let output = run(["build", text(&first), text(&second)]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("found the input"), "{}", stderr(&output));
    assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap());
}

#[cfg(unix)]
#[test]
fn a_link_as_output_stays_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let binary = copied("elf/zero-size/z.exe", directory.path());
    let (link, target) = (directory.path().join("link"), directory.path().join("target"));
    std::fs::write(&target, "old").unwrap();
    std::os::unix::fs::symlink("target", &link).unwrap();
    let output = run(["build", text(&binary), "-o", text(&link), "-q"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(code(&run(["verify", text(&target), "-q"])), 0);
}

#[cfg(unix)]
#[test]
fn a_device_is_no_input() {
    for arguments in [&["build", "/dev/zero", "-o", "x"][..], &["lookup", "/dev/zero", "1"]] {
        let output = run(arguments);
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains("found a device"), "{}", stderr(&output));
    }
}

/// A stripped copy has the build-id of its original and fewer symbols: in a
/// store it must not take the original's place, and it finds that index.
#[test]
fn a_stripped_copy_is_served_by_the_index_of_its_original() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    let made = |args: &[&str]| {
        std::process::Command::new(args[0]).args(&args[1..]).status().is_ok_and(|s| s.success())
    };
    let source = directory.path().join("a.c");
    std::fs::write(&source, "static int inner(int a) { return a * 3; }\nint main(int c, char **v) { return inner(c); }\n").unwrap();
    let (app, stripped) = (directory.path().join("app"), directory.path().join("stripped"));
    if !made(&["cc", "-O0", "-Wl,--build-id", text(&source), "-o", text(&app)])
        || !made(&["strip", "-o", text(&stripped), text(&app)])
    {
        eprintln!("SKIPPED: cc and strip are needed to make a stripped program");
        return;
    }
    let output = run(["build", text(&app), "--store", text(&store), "--json"]);
    let symbols = json(&output)[0]["symbols"].clone();
    let output = run(["build", text(&stripped), "--store", text(&store), "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(json(&output)[0]["status"], "fresh");
    assert!(json(&output)[0]["warnings"][0].as_str().unwrap().contains("kept it"));
    let found = run(["find", text(&app), "--json", "-q", "inner"]);
    let address = json(&found)[0]["matches"][0]["address"].as_str().unwrap().to_owned();
    let answer = run(["lookup", text(&stripped), "--store", text(&store), "--json", &address]);
    assert_eq!(json(&answer)[0]["symbol"]["name"], "inner");
    assert_eq!(stderr(&answer), "");
    let info = run(["info", text(&stripped), "--store", text(&store), "--json"]);
    assert!(stdout(&info).contains(&symbols.to_string()));
}

/// An index with the lines of a debug file is replaced by one without them only
/// when somebody is told: the next build may just have forgotten an option.
#[test]
fn lines_that_a_build_loses_are_told_of() {
    let Some(program) = program(&["-g", "-Wl,--build-id"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let (app, debug, index) = (file("app"), file("app.dbg"), file("app.symidx"));
    for (option, output) in [("--only-keep-debug", &debug), ("--strip-debug", &app)] {
        let arguments = [option, text(&program.binary), text(output)];
        match std::process::Command::new("objcopy").args(arguments).status() {
            Ok(status) => assert!(status.success()),
            Err(error) => return eprintln!("SKIPPED: objcopy: {error}"),
        }
    }
    let build = |more: &[&str]| {
        let output = run(["build", text(&app), "-o", text(&index)].iter().chain(more));
        assert_eq!(code(&output), 0);
        stderr(&output)
    };
    let with_debug = ["--debug-file", text(&debug)];
    assert_eq!(build(&with_debug), "");
    // Nothing is lost, or nothing was to be had.
    assert_eq!(build(&with_debug), "");
    assert_eq!(build(&["--force", "--debug-file", text(&debug)]), "");
    assert_eq!(build(&["--names-only"]), "");
    assert_eq!(build(&with_debug), "");
    let told = build(&[]);
    assert!(told.contains("replaced an index of the same build that had "), "{told}");
    assert!(
        told.contains(" lines with one that has 0: ") && told.contains("--debug-file"),
        "{told}"
    );
    assert_eq!(told.lines().count(), 1);
    assert_eq!(build(&["--force"]), "");
    // Of another build: that is what building again is for.
    assert_eq!(build(&with_debug), "");
    std::fs::copy(testdata("elf/zero-size/z.exe"), &app).unwrap();
    assert_eq!(build(&[]), "");
}

/// A walk over a system meets files without symbols and other files of one
/// build: they are passed over with a word, and the walk succeeds.
#[test]
fn what_a_walk_cannot_use_is_no_failure() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::copy(testdata("elf/zero-size/z.exe"), tree.join("z.exe")).unwrap();
    std::fs::copy(testdata("elf/debuglink/missing/app"), tree.join("app")).unwrap();
    let output = run(["build", text(&tree), "--json"]);
    let failed = json(&output).iter().filter(|line| line["status"] == "failed").count();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stderr(&output).matches("passed over").count(), failed);
    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let output = run(["build", text(&empty)]);
    assert_eq!(code(&output), 0);
    assert!(stderr(&output).contains("no ELF or Mach-O file"));
}

/// Official rustc has no build-id: without the link each reader would have to
/// hash 150 MB to find its index.
#[cfg(unix)]
#[test]
fn a_file_without_an_id_is_linked_by_its_state() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store");
    let links = || {
        let entries = std::fs::read_dir(store.join(".by-file")).unwrap();
        let mut all: Vec<_> =
            entries.map(|e| std::fs::canonicalize(e.unwrap().path()).unwrap()).collect();
        all.sort();
        all
    };
    let file = copied("elf/zero-size/z.exe", directory.path());
    let output = run(["build", text(&file), "--store", text(&store), "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(json(&output)[0]["id"].as_str().unwrap().starts_with("blake3:"));
    let index = std::fs::canonicalize(json(&output)[0]["output"].as_str().unwrap()).unwrap();
    assert_eq!(links(), std::slice::from_ref(&index));
    // Again, and a copy of it: one index, a link for each file.
    let again = directory.path().join("again.exe");
    std::fs::copy(&file, &again).unwrap();
    let output = run(["build", text(&file), text(&again), "--store", text(&store)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(links(), [index.clone(), index]);
    // A file with an id needs none.
    let other = directory.path().join("other");
    let file = testdata("macho/fat/fat3.macho");
    let output = run(["build", text(&file), "--all-archs", "--store", text(&other)]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(other.join(".build-id").exists() && !other.join(".by-file").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_is_indexed_file_by_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = child.id();
    let maps = || std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    while !maps().contains("libc.so") && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let mut command = symidx();
    command.env("XDG_CACHE_HOME", directory.path());
    let output = command
        .args(["build", "--names-only", "--json", "--pid", &pid.to_string()])
        .output()
        .unwrap();
    let mut again = symidx();
    again.env("XDG_CACHE_HOME", directory.path());
    let again = again.args(["build", "--names-only", "--pid", &pid.to_string()]).output().unwrap();
    let mut lookup = symidx();
    lookup.env("XDG_CACHE_HOME", directory.path());
    let mapped = maps();
    let code_of_libc =
        mapped.lines().find(|line| line.contains("r-xp") && line.contains("libc.so")).unwrap();
    let start = code_of_libc.split('-').next().unwrap();
    let found = lookup.args(["lookup", "--pid", &pid.to_string(), start]).output().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let inputs: Vec<_> =
        json(&output).iter().map(|built| built["input"].as_str().unwrap().to_owned()).collect();
    assert!(
        inputs.iter().any(|input| input.ends_with("/sleep") || input.ends_with("/coreutils")),
        "{inputs:?}"
    );
    assert!(inputs.iter().any(|input| input.contains("libc.so")), "{inputs:?}");
    let store = directory.path().join("symidx/.build-id");
    assert!(
        json(&output)
            .iter()
            .all(|built| built["output"].as_str().unwrap().starts_with(text(&store)))
    );
    // One line sums it up; the vDSO, which no file has, is among them where there is one.
    let vdso = inputs.iter().any(|input| input == "[vdso]");
    assert_eq!(vdso, mapped.contains("[vdso]"), "{inputs:?}");
    let sum = |output| stderr(output).lines().last().unwrap().to_owned();
    let expected = format!("process {pid}: {} built", inputs.len());
    assert!(sum(&output).starts_with(&expected), "{}", stderr(&output));
    assert_eq!((code(&again), stdout(&again).lines().count()), (0, inputs.len()));
    let expected = format!("process {pid}: {} up to date", inputs.len());
    assert!(sum(&again).starts_with(&expected), "{}", stderr(&again));
    // What is in the cache is not built again.
    assert!(!stderr(&found).contains("libc.so"), "{}", stderr(&found));
}

#[test]
fn packed_modules_are_indexed_as_what_is_in_them() {
    let directory = tempfile::tempdir().unwrap();
    let modules = directory.path().join("modules");
    std::fs::create_dir(&modules).unwrap();
    let plain = copied("elf/relocatable/fake.ko", &modules);
    copied("elf/relocatable/fake.ko.xz", &modules);
    std::fs::write(modules.join("notes.xz"), b"\xfd7zXZ\0 not a module").unwrap();
    let output = run(["build", text(&modules), "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let built = json(&output);
    assert_eq!(built.len(), 2);
    assert_eq!(built[0]["id"], built[1]["id"]);
    assert_eq!(built[0]["symbols"], built[1]["symbols"]);
    let packed = std::fs::read(modules.join("fake.ko.xz.symidx")).unwrap();
    assert_eq!(std::fs::read(modules.join("fake.ko.symidx")).unwrap(), packed);
    // The index beside it is the right one, and is not built again.
    let output = run(["lookup", text(&modules.join("fake.ko.xz")), "0x0"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    assert_eq!(stdout(&output), stdout(&run(["lookup", text(&plain), "0x0"])));
}

/// Twenty thousand threads took minutes to begin, and all of the machine.
#[test]
fn no_number_of_threads_is_too_large() {
    let Some(program) = program(&["-g"]) else { return };
    let peak = |variable: Option<&str>, more: &[&str]| {
        let mut command = symidx();
        command.args(["build", text(&program.binary), "--force", "-q"]).args(more);
        if let Some(threads) = variable {
            command.env("RAYON_NUM_THREADS", threads);
        }
        let mut child = command.spawn().unwrap();
        let tasks = format!("/proc/{}/task", child.id());
        let (mut most, start) = (0, std::time::Instant::now());
        let status = loop {
            most = most.max(std::fs::read_dir(&tasks).map_or(0, Iterator::count));
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if most > 2000 || start.elapsed().as_secs() > 60 {
                let _ = child.kill();
            }
        };
        assert!(status.success(), "{most} threads");
        most
    };
    assert!(peak(Some("20000"), &[]) < 600);
    assert!(peak(None, &["-j", "65535"]) < 600);
    assert!(peak(Some("no number"), &[]) < 600);
}
