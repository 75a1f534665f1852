//! Static archives: the bytes of one in, its members' names, times and bytes
//! out. Knows the BSD, GNU and thin forms; a damaged header ends the list.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::input::debug::path_of;

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member<'data> {
    /// Its file name.
    pub(super) name: Cow<'data, [u8]>,
    /// Its time stamp, in seconds.
    pub(super) time: u64,
    /// Its bytes; `None` in a thin archive, where the name is a path.
    pub(super) data: Option<&'data [u8]>,
}

const MAGIC: &[u8] = b"!<arch>\n";
const THIN_MAGIC: &[u8] = b"!<thin>\n";
const HEADER: usize = 60;

/// The members of an archive; `None` when it is none.
pub(super) fn members(data: &[u8]) -> Option<Vec<Member<'_>>> {
    let thin = data.starts_with(THIN_MAGIC);
    let mut rest = if thin { data.strip_prefix(THIN_MAGIC) } else { data.strip_prefix(MAGIC) }?;
    let mut long_names: &[u8] = &[];
    let mut members = Vec::new();
    while let Some((header, behind)) = rest.split_at_checked(HEADER) {
        let field = |from: usize, to: usize| header.get(from..to).unwrap_or_default();
        let name = field(0, 16).trim_ascii_end();
        let (Some(time), Some(size), b"`\n") =
            (number(field(16, 28)), number(field(48, 58)), field(58, 60))
        else {
            break;
        };
        let Ok(size) = usize::try_from(size) else { break };
        let special = matches!(name, b"/" | b"//" | b"/SYM64/");
        let stored = if thin && !special { 0 } else { size };
        let Some((contents, after)) = behind.split_at_checked(stored) else { break };
        // Members start at even offsets.
        rest = if stored.is_multiple_of(2) { after } else { after.get(1..).unwrap_or_default() };
        if name == b"//" {
            long_names = contents;
        }
        if special {
            continue;
        }
        let Some((name, contents)) = named(name, contents, long_names) else { continue };
        members.push(Member { name, time, data: (!thin).then_some(contents) });
    }
    Some(members)
}

/// A member's whole name, and its bytes without it.
fn named<'data>(
    name: &'data [u8],
    contents: &'data [u8],
    long_names: &'data [u8],
) -> Option<(Cow<'data, [u8]>, &'data [u8])> {
    if let Some(length) = name.strip_prefix(b"#1/") {
        let length = usize::try_from(number(length)?).ok()?;
        let (name, contents) = contents.split_at_checked(length)?;
        let end = memchr::memchr(0, name).unwrap_or(name.len());
        return Some((Cow::Borrowed(name.get(..end)?), contents));
    }
    if let Some(offset) = name.strip_prefix(b"/") {
        let rest = long_names.get(usize::try_from(number(offset)?).ok()?..)?;
        let line = rest.get(..memchr::memchr(b'\n', rest)?)?;
        return Some((Cow::Borrowed(line.strip_suffix(b"/").unwrap_or(line)), contents));
    }
    Some((Cow::Borrowed(name.strip_suffix(b"/").unwrap_or(name)), contents))
}

/// A number in decimal digits, blanks after it; no digits are 0.
fn number(field: &[u8]) -> Option<u64> {
    field.trim_ascii().iter().try_fold(0u64, |value, digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value.checked_mul(10)?.checked_add(digit.into())
    })
}

/// The archive and the member that `lib.a(member.o)` names.
pub(super) fn split_name(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = path.strip_suffix(b")")?;
    let open = memchr::memrchr(b'(', inside)?;
    let (archive, member) = inside.split_at_checked(open)?;
    let member = member.get(1..)?;
    (!archive.is_empty() && !member.is_empty()).then_some((archive, member))
}

/// Where a thin archive's member is.
pub(super) fn thin_path(archive: &Path, name: &[u8]) -> Option<PathBuf> {
    let name = path_of(name)?;
    Some(archive.parent().map_or_else(|| name.clone(), |parent| parent.join(&name)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn header(name: &str, time: u64, size: usize) -> Vec<u8> {
        format!("{name:<16}{time:<12}0     0     644     {size:<10}`\n").into_bytes()
    }

    fn all(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    type Short<'a> = (&'a [u8], u64, Option<&'a [u8]>);

    fn short<'a>(members: &'a [Member<'_>]) -> Vec<Short<'a>> {
        members.iter().map(|member| (&member.name[..], member.time, member.data)).collect()
    }

    #[test]
    fn names_of_all_forms() {
        let archive = all(&[
            b"!<arch>\n",
            &header("/", 0, 3),
            b"sym\n",
            &header("//", 0, 16),
            b"a_very_long.o/\n\n",
            &header("#1/8", 5, 11),
            b"bsd.o\0\0\0odd\n",
            &header("gnu.o/", 6, 4),
            b"even",
            &header("/0", 7, 1),
            b"x\n",
            &header("old.o", 8, 0),
        ]);
        let members = members(&archive).unwrap();
        assert_eq!(
            short(&members),
            [
                (&b"bsd.o"[..], 5, Some(&b"odd"[..])),
                (b"gnu.o", 6, Some(b"even")),
                (b"a_very_long.o", 7, Some(b"x")),
                (b"old.o", 8, Some(b"")),
            ]
        );
        for end in 0..archive.len() {
            let cut = super::members(&archive[..end]);
            assert!(cut.is_none_or(|cut| cut.len() < 4), "{end}");
        }
    }

    #[test]
    fn thin_archives_name_paths() {
        let archive = all(&[
            b"!<thin>\n",
            &header("//", 0, 8),
            b"sub/m.o\n",
            &header("/0", 7, 1000),
            &header("n.o/", 8, 1000),
        ]);
        let members = members(&archive).unwrap();
        assert_eq!(short(&members), [(&b"sub/m.o"[..], 7, None), (b"n.o", 8, None)]);
        let path = thin_path("dir/lib.a".as_ref(), b"sub/m.o").unwrap();
        assert_eq!(path, PathBuf::from("dir/sub/m.o"));
    }

    #[test]
    fn sizes_that_lie_end_the_list() {
        for size in [usize::MAX, 100] {
            let archive = all(&[b"!<arch>\n", &header("a.o", 1, 0), &header("b.o", 1, size)]);
            assert_eq!(members(&archive).unwrap().len(), 1);
        }
        assert!(members(b"!<arch>").is_none());
    }

    #[test]
    fn members_are_named_in_brackets() {
        assert_eq!(split_name(b"/l/libx.a(two.o)"), Some((&b"/l/libx.a"[..], &b"two.o"[..])));
        assert_eq!(split_name(b"/l(1)/x.a(t)"), Some((&b"/l(1)/x.a"[..], &b"t"[..])));
        for other in [&b"one.o"[..], b"a.a()", b"(x)", b")"] {
            assert_eq!(split_name(other), None);
        }
    }
}
