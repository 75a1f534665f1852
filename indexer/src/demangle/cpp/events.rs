//! Text from the events of the parser.
//!
//! In: pieces of text and the nodes that they belong to. Out: the text with
//! the references of a pack at each of its types, and the return type alone.
//! Bounded: a part may write nothing, so parts are counted too.

use std::fmt;

use cpp_demangle::{DemangleNodeType, DemangleWrite};
use symidx::demangle::MAX_TEXT;

use super::packs::MARKS;

/// Parts of a C++ name visited before giving up.
const MAX_NODES: u32 = 20_000;

/// What a template parameter stands for.
#[derive(Debug, Default)]
struct Parameter {
    /// Where its text starts.
    start: usize,
    /// Parentheses around it.
    depth: usize,
    /// Where each but the first of its types starts, and the comma before it.
    commas: Vec<usize>,
    /// False for a type that is written here and not a parameter.
    substituted: bool,
}

/// Collects text.
#[derive(Debug)]
pub(super) struct Printer {
    text: String,
    nodes: u32,
    /// Parentheses that are open.
    depth: usize,
    /// True when packs are marked.
    marked: bool,
    /// Nodes that are open; true for parameters.
    open: Vec<bool>,
    /// The parameters among them.
    parameters: Vec<Parameter>,
    /// The parameter that just ended, and the marks behind it.
    ended: Option<(Parameter, Vec<&'static str>)>,
    /// A space is to be written: maybe that in front of a mark.
    space: bool,
}

impl Printer {
    /// Empty, with room for a text.
    pub(super) fn new(marked: bool, room: usize) -> Self {
        Self {
            text: String::with_capacity(room.min(MAX_TEXT)),
            nodes: 0,
            depth: 0,
            marked,
            open: Vec::new(),
            parameters: Vec::new(),
            ended: None,
            space: false,
        }
    }

    /// All text.
    pub(super) fn finish(mut self) -> Option<String> {
        self.settle().ok()?;
        Some(self.text)
    }

    fn count(&mut self) -> fmt::Result {
        self.nodes = self.nodes.saturating_add(1);
        if self.nodes > MAX_NODES { Err(fmt::Error) } else { Ok(()) }
    }

    /// Puts what is marked behind the parameter that ended at each of its types.
    fn settle(&mut self) -> fmt::Result {
        if !self.space && self.ended.is_none() {
            return Ok(());
        }
        let space = std::mem::take(&mut self.space);
        let Some((mut parameter, marks)) = self.ended.take() else {
            if space {
                self.text.push(' ');
            }
            return Ok(());
        };
        for mark in marks {
            self.refer(&mut parameter, mark)?;
        }
        if space {
            self.text.push(' ');
        }
        Ok(())
    }

    /// Puts one reference at each type of a parameter.
    fn refer(&mut self, parameter: &mut Parameter, mark: &str) -> fmt::Result {
        if !parameter.substituted {
            refer_to_class(&mut self.text, mark);
            return Ok(());
        }
        let types = self.text.split_off(parameter.start);
        if types.is_empty() {
            return Ok(());
        }
        let mut from = 0usize;
        let mut ends = std::mem::take(&mut parameter.commas);
        ends.push(parameter.start.saturating_add(types.len()));
        for end in ends {
            let end = end.saturating_sub(parameter.start);
            let one = types.get(from..end).ok_or(fmt::Error)?;
            let one = match one.strip_prefix(", ") {
                Some(one) => {
                    parameter.commas.push(self.text.len());
                    self.text.push_str(", ");
                    one
                }
                None => one,
            };
            refer(one, mark, &mut self.text);
            from = end;
        }
        if self.text.len() > MAX_TEXT { Err(fmt::Error) } else { Ok(()) }
    }
}

impl DemangleWrite for Printer {
    fn push_demangle_node(&mut self, node: DemangleNodeType) {
        self.nodes = self.nodes.saturating_add(1);
        // What cannot be settled is too long, and fails at the next text.
        if self.settle().is_err() {
            self.nodes = MAX_NODES;
        }
        let parameter = matches!(node, DemangleNodeType::TemplateParam);
        if parameter {
            self.parameters.push(Parameter {
                start: self.text.len(),
                depth: self.depth,
                commas: Vec::new(),
                substituted: true,
            });
        }
        self.open.push(parameter);
    }

    fn pop_demangle_node(&mut self) {
        if self.settle().is_err() {
            self.nodes = MAX_NODES;
        }
        if self.open.pop() == Some(true)
            && let Some(parameter) = self.parameters.pop()
        {
            self.ended = Some((parameter, Vec::new()));
        }
    }

    fn write_string(&mut self, text: &str) -> fmt::Result {
        self.count()?;
        if self.marked && text == " " && !self.space {
            self.space = true;
            return Ok(());
        }
        if self.space
            && let Some((_, mark)) = MARKS.into_iter().find(|(name, _)| *name == text)
        {
            self.space = false;
            // Behind all else the text ends where the type does.
            let end = self.text.len();
            let (_, marks) = self.ended.get_or_insert_with(|| {
                (Parameter { start: end, ..Parameter::default() }, Vec::new())
            });
            marks.push(mark);
            return Ok(());
        }
        self.settle()?;
        if self.marked && matches!(text, "&" | "&&") && self.text.ends_with('&') {
            if text == "&" && self.text.ends_with("&&") {
                self.text.pop();
            }
            return Ok(());
        }
        if text == ", "
            && self.open.last() == Some(&true)
            && let Some(parameter) = self.parameters.last_mut()
            && parameter.depth == self.depth
        {
            parameter.commas.push(self.text.len());
        }
        for byte in text.bytes() {
            match byte {
                b'(' => self.depth = self.depth.saturating_add(1),
                b')' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        if self.text.len().saturating_add(text.len()) > MAX_TEXT {
            return Err(fmt::Error);
        }
        self.text.push_str(text);
        Ok(())
    }
}

/// Writes a type with a reference to it: `int&`, `char (&) [2]`, `void (&)(int)`;
/// two references are one.
fn refer(one: &str, mark: &str, out: &mut String) {
    let array = one.ends_with(']');
    if !array && !one.ends_with(')') {
        out.push_str(one);
        join(out, mark);
        return;
    }
    // Where the dimensions or the parameters start.
    let tail = match array {
        true => one.rfind(" [").unwrap_or(one.len()),
        false => opening(one).unwrap_or(one.len()),
    };
    let (head, tail) = one.split_at_checked(tail).unwrap_or((one, ""));
    match head.strip_suffix(')') {
        Some(declarator) => {
            out.push_str(declarator);
            join(out, mark);
            out.push(')');
        }
        None if mark == " const" && array => {
            out.push_str(head);
            join(out, mark);
        }
        None if mark == " const" => out.push_str(head),
        None => {
            out.push_str(head);
            if !out.ends_with(' ') {
                out.push(' ');
            }
            out.extend(["(", mark, ")"]);
        }
    }
    out.push_str(tail);
}

/// A reference to a class. Parameters of a function that returns it may stand
/// behind it already.
fn refer_to_class(text: &mut String, mark: &str) {
    if !text.ends_with(')') {
        join(text, mark);
        return;
    }
    let parameters = opening(text).unwrap_or(text.len());
    let behind = match text.get(..parameters) {
        Some(pointer) if pointer.ends_with(')') => opening(pointer).unwrap_or(parameters),
        _ => parameters,
    };
    let rest = text.split_off(behind);
    // A function type, or a pointer to one, and not what returns a class.
    if text.ends_with(' ') {
        refer(&rest, mark, text);
        return;
    }
    text.extend([mark, " ", &rest]);
}

/// Where the parenthesis opens that the last byte closes.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    text.bytes().rposition(|byte| {
        match byte {
            b')' => depth = depth.saturating_add(1),
            b'(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// Writes a reference to the type before, which may be one, or its constant.
fn join(text: &mut String, mark: &str) {
    match mark {
        // A reference to an rvalue reference is one to an lvalue.
        "&" if text.ends_with("&&") => {
            text.pop();
        }
        "&" | "&&" if text.ends_with('&') => {}
        " const" if text.ends_with('&') || text.ends_with(" const") => {}
        mark => text.push_str(mark),
    }
}

/// Collects the return type and ends, with an error, behind it.
#[derive(Debug)]
pub(super) struct ReturnType {
    printer: Printer,
    /// Nodes and brackets that are open.
    depth: usize,
    /// A space outside of all of them was the last thing written.
    space: bool,
    found: bool,
}

/// What goes on with a type behind a space.
const GOES_ON: [&str; 8] =
    ["const", "volatile", "restrict", "(", "[", "noexcept", "complex", "imaginary"];

impl ReturnType {
    pub(super) fn new(printer: Printer) -> Self {
        Self { printer, depth: 0, space: false, found: false }
    }

    /// The return type, when there is one.
    pub(super) fn finish(self) -> Option<String> {
        if self.found { self.printer.finish() } else { None }
    }

    /// True when the space before was the last of the return type.
    fn ends(&mut self, next: Option<&str>) -> bool {
        let marked = |next| MARKS.iter().any(|(name, _)| *name == next);
        let goes_on = next.is_some_and(|next| GOES_ON.contains(&next) || marked(next));
        if std::mem::take(&mut self.space) && !goes_on {
            self.found = true;
        }
        self.found
    }
}

impl DemangleWrite for ReturnType {
    fn push_demangle_node(&mut self, node: DemangleNodeType) {
        if !self.ends(None) {
            self.depth = self.depth.saturating_add(1);
            self.printer.push_demangle_node(node);
        }
    }

    fn pop_demangle_node(&mut self) {
        if !self.found {
            self.depth = self.depth.saturating_sub(1);
            self.printer.pop_demangle_node();
        }
    }

    fn write_string(&mut self, text: &str) -> fmt::Result {
        let spaced = self.space;
        if self.ends(Some(text)) {
            return Err(fmt::Error);
        }
        if spaced {
            self.printer.write_string(" ")?;
        }
        if text == " " && self.depth == 0 {
            self.space = true;
            return Ok(());
        }
        for byte in text.bytes() {
            match byte {
                b'(' | b'<' => self.depth = self.depth.saturating_add(1),
                b')' | b'>' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.printer.write_string(text)
    }
}
