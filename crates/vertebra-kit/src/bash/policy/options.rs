//! Tells options from operands.

use super::{
    fields::Field,
    table::{Program, Treat},
    value::is_known,
};

/// The arguments of a command, told apart.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Options by name (`-x`, `--long`), with their values.
    pub(super) options: Vec<(String, Option<Field>)>,
    pub(super) operands: Vec<Field>,
    /// Where the first operand stands.
    pub(super) first: Option<usize>,
}

impl Parsed {
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(option, _)| names.contains(&option.as_str()))
    }

    pub(super) fn value(&self, names: &[&str]) -> Option<&Field> {
        let found = self.options.iter().find(|(option, value)| value.is_some() && names.contains(&option.as_str()));
        found.and_then(|(_, value)| value.as_ref())
    }
}

/// Which options take a value, by the table.
fn takes_value(program: &Program) -> impl Fn(&str) -> bool {
    move |name| find(program, name).is_some_and(|(_, treat)| treat.takes_value())
}

/// The option, or the operand, of exactly this name.
pub(super) fn exact(program: &Program, name: &str) -> Option<(&'static str, Treat)> {
    program.options.iter().find(|(option, _)| *option == name).copied()
}

/// The option of this name; a long one may be cut short.
pub(super) fn find(program: &Program, name: &str) -> Option<(&'static str, Treat)> {
    let short_of = || {
        let cut = name.starts_with("--") && name.len() > 4;
        program.options.iter().find(|(option, _)| cut && option.starts_with(name)).copied()
    };
    exact(program, name).or_else(short_of)
}

/// Tells options from operands by the table.
pub(super) fn by_table(args: &[Field], program: &Program, until_operand: bool) -> Parsed {
    parse(args, takes_value(program), until_operand, program.whole)
}

/// Tells options from operands. A wrapper's own options end where its command begins.
pub(super) fn split(args: &[Field], takes_value: impl Fn(&str) -> bool, until_operand: bool) -> Parsed {
    parse(args, takes_value, until_operand, false)
}

fn parse(args: &[Field], takes_value: impl Fn(&str) -> bool, until_operand: bool, whole: bool) -> Parsed {
    let mut parsed = Parsed::default();
    let mut at = 0;
    let mut only_operands = false;
    while at < args.len() {
        let arg = &args[at];
        let text = arg.text.as_str();
        let is_option = !only_operands && text.len() > 1 && text.starts_with('-');
        if is_option && text == "--" {
            only_operands = true;
        } else if !is_option {
            parsed.first.get_or_insert(at);
            if until_operand {
                return parsed;
            }
            parsed.operands.push(arg.clone());
        } else if text.starts_with("--") || takes_value(text) || is_long(text, &takes_value) {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(Field { text: value.to_owned(), glob: arg.glob })),
                None if takes_value(text) => {
                    at += 1;
                    (text, args.get(at).cloned())
                }
                None => (text, None),
            };
            parsed.options.push((name.to_owned(), value));
        } else if whole {
            let (name, value) = text.split_once(['=', ':']).map_or((text, None), |(name, value)| (name, Some(value)));
            parsed.options.push((name.to_owned(), value.map(Field::plain)));
        } else if !is_known(text) {
            parsed.options.push((text.to_owned(), None));
        } else {
            at = cluster(args, at, &takes_value, &mut parsed);
        }
        at += 1;
    }
    parsed
}

/// `-name=value` of programs that write long options behind one dash.
fn is_long(text: &str, takes_value: &impl Fn(&str) -> bool) -> bool {
    text.split_once('=').is_some_and(|(name, _)| name.len() > 2 && takes_value(name))
}

/// `-abc value`: letters until one that takes a value. Says where it ended.
fn cluster(args: &[Field], at: usize, takes_value: &impl Fn(&str) -> bool, parsed: &mut Parsed) -> usize {
    let text = args[at].text.as_str();
    // Programs with long options behind one dash are listed by them.
    parsed.options.push((text.to_owned(), None));
    for (offset, c) in text.char_indices().skip(1).take(64) {
        let name = format!("-{c}");
        if takes_value(&name) {
            let rest = &text[offset + c.len_utf8()..];
            let attached = (!rest.is_empty())
                .then(|| Field { text: rest.trim_start_matches('=').to_owned(), glob: args[at].glob });
            let next = if attached.is_none() { at + 1 } else { at };
            parsed.options.push((name, attached.or_else(|| args.get(next).cloned())));
            return next;
        }
        parsed.options.push((name, None));
    }
    at
}
