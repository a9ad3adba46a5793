//! Lists of named things for a model to choose from.

/// How many bytes a list may take in a prompt, names at its end not counted.
const MAX_BYTES: usize = 16 * 1024;

/// One line for each thing, `- name: what it is for`. Those beyond what a prompt may take are listed by name alone.
pub(crate) fn listing<'n>(things: impl IntoIterator<Item = (&'n str, String)>) -> String {
    let mut list = String::new();
    let mut others = Vec::new();
    for (name, line) in things {
        if others.is_empty() && list.len() + line.len() <= MAX_BYTES {
            list.push_str(&line);
            list.push('\n');
        } else {
            others.push(name);
        }
    }
    if !others.is_empty() {
        list.push_str("- also: ");
        list.push_str(&others.join(", "));
        list.push('\n');
    }
    list
}
