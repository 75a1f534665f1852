use std::path::Path;

use symidx::{Index, Name, Svma};
use symidx_indexer::{BuildOptions, build_bytes};

use super::*;
use crate::frames::Chain;

/// A file with the symbol `sized` at 0x401040.
fn index() -> Option<Index<'static>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/elf/zero-size/z.exe");
    let (bytes, _) = build_bytes(&file, &BuildOptions::default()).ok()?;
    Index::from_vec(bytes).ok()
}

fn name(bytes: &'static [u8]) -> Name<'static> {
    Name::from(bytes)
}

fn chain() -> Chain<'static> {
    let file = |file| Some(PathText { directory: name(b"/src"), name: name(file) });
    let frames = vec![
        FrameText {
            function: Some(name(b"_ZN5space5innerEv")),
            display: None,
            file: file(b"a.h"),
            line: Some(2),
            column: Some(75),
            declared_file: file(b"a.h"),
            declared_line: Some(1),
            inlined: true,
        },
        FrameText { function: Some(name(b"middle")), inlined: true, ..FrameText::default() },
        FrameText {
            function: Some(name(b"sized")),
            file: file(b"b.c"),
            line: Some(40),
            column: Some(0),
            declared_line: Some(39),
            ..FrameText::default()
        },
    ];
    Chain { frames, damage: None }
}

fn answer(manner: Manner, query: &str, found: &Found<'_>) -> (String, Option<String>) {
    let manner = Manner { demangle: true, module: "app".to_owned(), ..manner };
    let mut out = Vec::new();
    let address = u64::from_str_radix(query.trim_start_matches("0x"), 16).unwrap_or(0);
    let error = Writer::new(manner).write(&mut out, query.as_bytes(), address, found).err();
    (String::from_utf8_lossy(&out).into_owned(), error)
}

fn styled(style: Style, query: &str, found: &Found<'_>) -> String {
    answer(Manner { style, ..Manner::default() }, query, found).0
}

fn hit<'i>(index: &'i Index<'_>, chain: Chain<'i>) -> Option<Found<'i>> {
    let symbol = index.lookup(Svma(0x40_1058)).ok()??;
    Some(Found::Hit(Hit { symbol, start: 0x40_1040, offset: 0x18, svma: None, file: None, chain }))
}

fn miss<'i>(frame: Option<FrameText<'i>>) -> Found<'i> {
    let chain = Chain { frames: frame.into_iter().collect(), damage: None };
    Found::Miss(Miss { reason: Reason::Uncovered, svma: None, file: None, chain })
}

/// A miss in a process said nothing of where it was.
#[test]
fn a_miss_among_several_files_names_its_own() {
    let file = Some(Path::new("/lib/a.so"));
    let found =
        Found::Miss(Miss { reason: Reason::Uncovered, svma: None, file, chain: Chain::default() });
    assert_eq!(
        styled(Style::Plain, "0x1", &found),
        "0x1 ?? (no symbol covers this address) (/lib/a.so)\n"
    );
    let json = styled(Style::Json, "0x1", &found);
    assert!(
        json.ends_with("\"reason\":\"no symbol covers this address\",\"file\":\"/lib/a.so\"}\n"),
        "{json}"
    );
}

#[test]
fn a_chain_reads_from_the_inside_out() {
    let index = index();
    let found = index.as_ref().and_then(|index| hit(index, chain()));
    assert!(found.is_some(), "no test input");
    let Some(found) = found else { return };
    assert_eq!(
        styled(Style::Plain, "0x401058", &found),
        "0x401058 space::inner() at /src/a.h:2:75\n    (inlined by) middle\n    \
         (inlined by) sized+0x18 at /src/b.c:40\n"
    );
    assert_eq!(
        styled(Style::Llvm, "0x401058", &found),
        "space::inner()\n/src/a.h:2:75\nmiddle\n??:0:0\nsized\n/src/b.c:40:0\n\n"
    );
    assert_eq!(
        styled(Style::Gnu, "0x401058", &found),
        "space::inner()\n/src/a.h:2\nmiddle\n??:?\nsized\n/src/b.c:40\n"
    );
    assert_eq!(
        styled(Style::LlvmJson, "0x401058", &found),
        concat!(
            r#"{"Address":"0x401058","ModuleName":"app","Symbol":["#,
            r#"{"Column":75,"Discriminator":0,"FileName":"/src/a.h","FunctionName":"space::inner()","#,
            r#""Line":2,"StartAddress":"","StartFileName":"/src/a.h","StartLine":1},"#,
            r#"{"Column":0,"Discriminator":0,"FileName":"","FunctionName":"middle","#,
            r#""Line":0,"StartAddress":"","StartFileName":"","StartLine":0},"#,
            r#"{"Column":0,"Discriminator":0,"FileName":"/src/b.c","FunctionName":"sized","#,
            r#""Line":40,"StartAddress":"0x401040","StartFileName":"","StartLine":39}]}"#,
            "\n"
        )
    );
    let json = styled(Style::Json, "0x401058", &found);
    let frames = json.split_once(r#","frames":"#).map(|(_, frames)| frames);
    assert_eq!(
        frames,
        Some(concat!(
            r#"[{"function":"_ZN5space5innerEv","demangled":"space::inner()","file":"/src/a.h","#,
            r#""line":2,"column":75,"inlined":true},"#,
            r#"{"function":"middle","demangled":"middle","file":null,"#,
            r#""line":null,"column":null,"inlined":true},"#,
            r#"{"function":"sized","demangled":"sized","file":"/src/b.c","#,
            r#""line":40,"column":0,"inlined":false}]}"#,
            "\n"
        ))
    );
}

#[test]
fn a_line_outside_every_function_is_a_miss_with_a_place() {
    let row = FrameText {
        file: Some(PathText { directory: name(b""), name: name(b"a.c") }),
        line: Some(9),
        column: Some(3),
        ..FrameText::default()
    };
    let found = miss(Some(row));
    assert_eq!(
        styled(Style::Plain, "0x10", &found),
        "0x10 ?? at a.c:9:3 (no symbol covers this address)\n"
    );
    assert_eq!(styled(Style::Llvm, "0x10", &found), "??\na.c:9:3\n\n");
    assert_eq!(styled(Style::Gnu, "0x10", &found), "??\na.c:9\n");
    assert_eq!(
        styled(Style::Json, "0x10", &found),
        concat!(
            r#"{"address":"0x10","symbol":null,"frames":[{"function":null,"demangled":null,"#,
            r#""file":"a.c","line":9,"column":3,"inlined":false}],"#,
            r#""reason":"no symbol covers this address"}"#,
            "\n"
        )
    );
    assert_eq!(
        styled(Style::LlvmJson, "0x10", &found),
        concat!(
            r#"{"Address":"0x10","ModuleName":"app","Symbol":[{"Column":3,"Discriminator":0,"#,
            r#""FileName":"a.c","FunctionName":"","Line":9,"StartAddress":"","#,
            r#""StartFileName":"","StartLine":0}]}"#,
            "\n"
        )
    );
}

#[test]
fn a_miss_and_a_bad_query_keep_each_style_in_step() {
    let nothing = miss(None);
    let wrong = Found::Wrong(crate::lookup::query::EXPECTED.to_owned());
    for (style, missed, bad) in [
        (Style::Plain, "0x1 ?? (no symbol covers this address)\n", None),
        (Style::Llvm, "??\n??:0:0\n\n", Some("??\n??:0:0\n\n")),
        (Style::Gnu, "??\n??:0\n", Some("??\n??:0\n")),
        (
            Style::LlvmJson,
            concat!(
                r#"{"Address":"0x1","ModuleName":"app","Symbol":[{"Column":0,"Discriminator":0,"#,
                r#""FileName":"","FunctionName":"","Line":0,"StartAddress":"","#,
                r#""StartFileName":"","StartLine":0}]}"#,
                "\n"
            ),
            Some(concat!(r#"{"Loc":[],"ModuleName":"app","SymName":"zz"}"#, "\n")),
        ),
    ] {
        assert_eq!(styled(style, "0x1", &nothing), missed);
        let (text, error) = answer(Manner { style, ..Manner::default() }, "zz", &wrong);
        assert!(error.is_some());
        assert_eq!(
            text,
            bad.unwrap_or("zz ?? (expected a hexadecimal address of at most 64 bits)\n")
        );
    }
    let number = styled(Style::LlvmJson, "0xzz", &wrong);
    assert!(number.starts_with(r#"{"ModuleName":"app","Symbol":["#), "{number}");
    let broken = Found::Wrong("broken".to_owned());
    assert_eq!(
        styled(Style::LlvmJson, "0x10", &broken),
        concat!(r#"{"Address":"0x10","Error":{"Message":"broken"},"ModuleName":"app"}"#, "\n")
    );
}

#[test]
fn damaged_lines_cost_only_themselves() {
    let index = index();
    let damage = Some(Corrupt { section: symidx::format::SectionId::RECORDS, offset: 8 });
    let chain = Chain {
        frames: vec![FrameText { function: Some(name(b"sized")), ..FrameText::default() }],
        damage,
    };
    let found = index.as_ref().and_then(|index| hit(index, chain));
    assert!(found.is_some(), "no test input");
    let Some(found) = found else { return };
    let (text, error) = answer(Manner::default(), "0x401058", &found);
    assert_eq!(text, "0x401058 sized+0x18\n");
    assert!(error.is_some_and(|error| error.contains("are missing")));
}

#[test]
fn colours_are_for_people() {
    let index = index();
    let found = index.as_ref().and_then(|index| hit(index, chain()));
    assert!(found.is_some(), "no test input");
    let Some(found) = found else { return };
    let colored =
        |style| answer(Manner { style, color: true, ..Manner::default() }, "0x401058", &found).0;
    assert!(colored(Style::Plain).starts_with(
        "\x1b[2m0x401058\x1b[0m \x1b[1mspace::inner()\x1b[0m at \x1b[36m/src/a.h:2:75\x1b[0m\n"
    ));
    for style in [Style::Json, Style::Llvm, Style::LlvmJson, Style::Gnu] {
        assert_eq!(colored(style), styled(style, "0x401058", &found));
    }
}
