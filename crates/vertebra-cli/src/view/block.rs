//! A finished call, as it stays on the screen.

use vertebra::{ToolCall, ToolResult, ToolStatus};

use super::{
    call,
    hooks::Note,
    result::{self, Much},
    rows::{DIM, PLAIN, Row, behind, wrap},
    text::on_one_line,
};

/// The deepest indentation of subagents.
const MAX_DEPTH: u32 = 4;

/// The place of a block on the screen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) width: usize,
    /// The depth of delegation.
    pub(crate) depth: u32,
    /// The agent, if several could be meant.
    pub(crate) agent: Option<&'a str>,
}

impl Place<'_> {
    fn margin(self) -> Row {
        Row::default().with(DIM, "│ ".repeat(self.depth.min(MAX_DEPTH) as usize))
    }

    fn room(self) -> usize {
        self.width.saturating_sub(self.margin().width())
    }

    /// Indents the rows and cuts them to the width.
    pub(crate) fn put(self, rows: Vec<Row>) -> Vec<Row> {
        rows.into_iter().map(|row| self.margin().then(row.cut(self.room()))).collect()
    }

    fn agent(self) -> Row {
        self.agent.map(|agent| Row::default().with(DIM, format!(" · {}", on_one_line(agent)))).unwrap_or_default()
    }
}

/// Returns a call, what hooks did to it, and its result.
pub(crate) fn ended(call: &ToolCall, result: &ToolResult, notes: &[Note], much: Much, place: Place<'_>) -> Vec<Row> {
    block(call::rows(call), call, result, notes, much, place)
}

/// Returns the result of a call whose arguments are on the screen already, because the user was asked about it.
pub(crate) fn ended_after_question(call: &ToolCall, result: &ToolResult, notes: &[Note], place: Place<'_>) -> Vec<Row> {
    let is_edit = matches!(&*call.tool, "write_file" | "edit_file") && result.success;
    // The question has shown the difference.
    let much = if is_edit { Much::Little } else { Much::Some };
    block(vec![call::name(call)], call, result, notes, much, place)
}

fn block(
    head: Vec<Row>,
    call: &ToolCall,
    result: &ToolResult,
    notes: &[Note],
    much: Much,
    place: Place<'_>,
) -> Vec<Row> {
    let (style, mark) = result::mark(result);
    let facts = result::facts(call, result).then(place.agent());
    let mut rows = headline(&Row::default().with(style, format!("{mark} ")), head, facts, place);
    rows.extend(notes.iter().flat_map(|note| noted(note, place)));
    let preview = result::preview(call, result, much);
    if result.status == ToolStatus::Blocked {
        let wrapped = preview.iter().flat_map(|row| wrap(&row.0, place.room().saturating_sub(2)));
        rows.extend(set_in("  ", wrapped.collect()));
    } else {
        rows.extend(set_in("    ", preview));
    }
    place.put(rows)
}

/// Returns a call whose subagent is running.
pub(crate) fn announced(call: &ToolCall, notes: &[Note], place: Place<'_>) -> Vec<Row> {
    let mut rows = headline(&Row::default().with(DIM, "◆ "), call::rows(call), Row::default(), place);
    rows.extend(notes.iter().flat_map(|note| noted(note, place)));
    place.put(rows)
}

/// Returns the end of a call whose subagent was running.
pub(crate) fn child_ended(call: &ToolCall, result: &ToolResult, place: Place<'_>) -> Vec<Row> {
    let (style, mark) = result::mark(result);
    let name = Row::default().with(PLAIN, call.args.text("agent").map_or_else(|| on_one_line(&call.tool), on_one_line));
    let name = name.with(DIM, " finished").then(result::facts(call, result));
    let mut rows = vec![Row::default().with(style, format!("{mark} ")).then(name)];
    rows.extend(set_in("    ", result::preview(call, result, Much::Some)));
    place.put(rows)
}

/// Returns the headline of a call. A long call is cut so that the details stay visible.
fn headline(mark: &Row, call: Vec<Row>, facts: Row, place: Place<'_>) -> Vec<Row> {
    let room = place.room().saturating_sub(mark.width() + facts.width()).max(8);
    let mut rows = call.into_iter();
    let first = rows.next().unwrap_or_default().cut(room).then(facts);
    behind(mark, [first].into_iter().chain(rows).collect())
}

/// Wraps a note.
pub(crate) fn noted(note: &Note, place: Place<'_>) -> Vec<Row> {
    let rows = wrap(&note.row().0, place.room().saturating_sub(4).max(8));
    behind(&Row::default().with(PLAIN, "  "), rows)
        .into_iter()
        .enumerate()
        .map(|(number, row)| if number == 0 { row } else { Row::default().with(PLAIN, "  ").then(row) })
        .collect()
}

fn set_in(margin: &str, rows: Vec<Row>) -> Vec<Row> {
    rows.into_iter().map(|row| Row::default().with(PLAIN, margin).then(row)).collect()
}
