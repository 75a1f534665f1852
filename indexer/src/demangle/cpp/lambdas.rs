//! Puts the parameters of a lambda's operator behind its name: the parser may
//! write them behind the first class among the lambda's own parameters.
//!
//! In: the parser's text. Out: the same pieces in order. Only where a function
//! of a lambda has no parameters at all; every other text is left alone.

use super::super::path;

const LAMBDA: &str = "{lambda(";
/// Lambdas looked at in a name: each costs a walk over its rest.
const MAX_LAMBDAS: usize = 200;

/// Moves parameters where they belong.
pub(super) fn reunite(text: &mut String) {
    let mut from = 0usize;
    for _ in 0..MAX_LAMBDAS {
        let rest = text.as_bytes().get(from..).unwrap_or(&[]);
        let Some(found) = memchr::memmem::find(rest, LAMBDA.as_bytes()) else { return };
        from = from.saturating_add(found).saturating_add(LAMBDA.len());
        if let Some(moved) = reunited(text, from) {
            *text = moved;
        }
    }
}

/// The text with the parameters moved that stand among those of the lambda
/// whose parameters start there.
fn reunited(text: &str, from: usize) -> Option<String> {
    let inside = text.get(from..)?;
    let length = path::closing(inside.as_bytes())?;
    let own = inside.get(..length)?;
    let behind = inside.get(length.saturating_add(1)..)?.strip_prefix('#')?;
    let name = behind.get(behind.find('}')?.saturating_add(1)..)?;
    let end = function_name(name)?;
    let (at, sign, moved) = stray(own)?;
    let before = text.get(..from.saturating_add(at))?.trim_end_matches(' ');
    let after = own.get(moved.1..)?;
    let between = inside.get(length..inside.len().checked_sub(name.len())?)?;
    let (function, rest) = name.split_at_checked(end)?;
    Some([before, sign, after, between, function, own.get(moved.0..moved.1)?, rest].concat())
}

/// Bytes of the name of a function of the lambda, when no parameters follow.
fn function_name(name: &str) -> Option<usize> {
    let member = name.strip_prefix("::")?;
    let length = match path::operator(b"", member.as_bytes()) {
        Some(length) => length,
        None => {
            let joined = |c: char| c.is_ascii_alphanumeric() || c == '_';
            member.find(|c| !joined(c)).unwrap_or(member.len())
        }
    };
    let after = member.get(length..)?;
    let whole = length > 0 && !after.starts_with(['(', '<', '[', '{']);
    whole.then(|| length.saturating_add(2))
}

/// Where among a lambda's parameters others stand, what else is written there,
/// and the range of them.
fn stray(own: &str) -> Option<(usize, &'static str, (usize, usize))> {
    let mut depth = 0usize;
    for (at, byte) in own.bytes().enumerate() {
        match byte {
            b'<' | b'{' | b'[' => depth = depth.saturating_add(1),
            b'>' | b'}' | b']' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 => {
                let rest = own.get(at..)?;
                let signs =
                    [("(&)", "&"), ("(&&)", "&&"), ("(*)", "*"), ("(* const&)", "* const&")];
                let sign = signs.into_iter().find(|(group, _)| rest.starts_with(group));
                let (skipped, sign) = sign.map_or((0, ""), |(group, sign)| (group.len(), sign));
                let start = at.saturating_add(skipped);
                let group = own.get(start..)?.strip_prefix('(')?;
                let length = path::closing(group.as_bytes())?.saturating_add(2);
                return Some((at, sign, (start, start.saturating_add(length))));
            }
            _ => {}
        }
    }
    None
}
