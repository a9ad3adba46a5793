//! Adds imported entries to the text of a `vertebra.toml` and keeps what it already has.

use anyhow::Context as _;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::reading::{Hook, Import};
use crate::hooks::file::with_block;

/// The new text of the file, the imported entries and the ones left out.
pub(super) struct Made {
    pub(super) text: String,
    pub(super) carried: Vec<String>,
    pub(super) left: Vec<String>,
}

/// Adds everything that the file does not have yet.
pub(super) fn written(import: Import, before: &str) -> anyhow::Result<Made> {
    let mut made = Made { text: String::new(), carried: Vec::new(), left: Vec::new() };
    let mut document: DocumentMut = before.parse().context("vertebra.toml")?;
    if !import.rules.is_empty() || import.mode.is_some() {
        let permissions = document.entry("permissions").or_insert(Item::Table(Table::new()));
        write_rules(permissions, &import, &mut made.carried);
    }
    made.text = document.to_string();
    for hook in &import.hooks {
        // An existing handler is not added again, so a second import changes nothing.
        if !has(&made.text, hook) {
            made.text = with_block(&made.text, &hook.block);
            made.carried.push(format!("{}: {}", hook.name, hook.shown));
        }
    }
    made.left = import.left;
    Ok(made)
}

fn write_rules(permissions: &mut Item, import: &Import, carried: &mut Vec<String>) {
    for (list, rule) in &import.rules {
        let item = permissions.as_table_like_mut().map(|table| table.entry(list).or_insert(value(Array::new())));
        let Some(rules) = item.and_then(|item| item.as_array_mut()) else { continue };
        if !rules.iter().any(|known| known.as_str() == Some(rule)) {
            rules.push(rule.as_str());
            carried.push(format!("permissions.{list}: {rule}"));
        }
    }
    if let (Some(mode), Some(table)) = (import.mode, permissions.as_table_like_mut())
        && !table.contains_key("mode")
    {
        table.insert("mode", value(mode));
        carried.push(format!("permissions.mode: {mode}"));
    }
}

/// Whether a text already has a hook, under any name.
fn has(text: &str, hook: &Hook) -> bool {
    let rest = |block: &str| block.lines().filter(|line| !line.starts_with("name = ")).collect::<Vec<_>>().join("\n");
    let new = rest(&hook.block);
    text.split("[[hook]]").any(|known| rest(&format!("[[hook]]{known}")).trim() == new.trim())
}
