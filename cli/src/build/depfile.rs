//! Dependencies in Makefile syntax: outputs, a colon, every file read.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use symidx_indexer::publish;

/// One rule.
#[derive(Debug)]
pub(super) struct Rule {
    /// The targets.
    pub(super) outputs: Vec<PathBuf>,
    /// The prerequisites.
    pub(super) inputs: Vec<PathBuf>,
}

/// Writes the rules to a file, whole or not at all; straight into what is no
/// regular file (`/dev/stdout`, a pipe), which a rename would replace.
pub(super) fn write(path: &Path, rules: &[Rule]) -> io::Result<()> {
    let names = rules.iter().flat_map(|rule| rule.outputs.iter().chain(&rule.inputs));
    for name in names {
        if name.as_os_str().as_encoded_bytes().contains(&b'\n') {
            return Err(io::Error::other(format!(
                "expected names that a Makefile can hold, found a line feed in {}; rename the file",
                name.display()
            )));
        }
    }
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::OpenOptions::new().write(true).open(path)?.write_all(&text(rules));
    }
    let path = &publish::target(path);
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".symidx-depfile.");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(&text(rules))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn text(rules: &[Rule]) -> Vec<u8> {
    let mut out = Vec::new();
    for rule in rules {
        for (i, output) in rule.outputs.iter().enumerate() {
            if i > 0 {
                out.push(b' ');
            }
            escape(&mut out, output.as_os_str());
        }
        out.push(b':');
        for input in &rule.inputs {
            out.extend_from_slice(b" \\\n  ");
            escape(&mut out, input.as_os_str());
        }
        out.push(b'\n');
    }
    out
}

/// As compilers do for make and ninja: a backslash in front of spaces and `#`
/// (and of backslashes that would then be read as such), `$` twice.
fn escape(out: &mut Vec<u8>, path: &OsStr) {
    let mut backslashes = 0usize;
    for &byte in path.as_encoded_bytes() {
        match byte {
            b' ' | b'\t' | b'#' => {
                out.extend(std::iter::repeat_n(b'\\', backslashes.saturating_add(1)));
            }
            b'$' => out.push(b'$'),
            _ => {}
        }
        backslashes = if byte == b'\\' { backslashes.saturating_add(1) } else { 0 };
        out.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_make_reads_them() {
        let rule = Rule {
            outputs: vec!["a b.symidx".into(), "c".into()],
            inputs: vec!["a b".into(), "x#y$z".into(), "d\\ e".into(), "f\\g".into()],
        };
        let expected = "a\\ b.symidx c: \\\n  a\\ b \\\n  x\\#y$$z \\\n  d\\\\\\ e \\\n  f\\g\n";
        assert_eq!(String::from_utf8_lossy(&text(&[rule])), expected);
    }
}
