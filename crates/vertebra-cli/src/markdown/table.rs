//! Renders tables with aligned columns. Cells wrap if the table is too wide.

use anstyle::Style;
use pulldown_cmark::Alignment;

use crate::view::rows::{BOLD, DIM, PLAIN, Row, Span, wrap};

/// The separator between two columns.
const BETWEEN: &str = " │ ";
/// The minimum width of a column.
const MIN_WIDTH: usize = 4;

/// A table. Its first row is the header.
pub(super) struct Table {
    alignment: Vec<Alignment>,
    cells: Vec<Vec<Vec<Span>>>,
}

impl Table {
    pub(super) fn new(alignment: &[Alignment]) -> Self {
        Self { alignment: alignment.to_vec(), cells: Vec::new() }
    }

    pub(super) fn begin_row(&mut self) {
        self.cells.push(Vec::new());
    }

    pub(super) fn cell(&mut self, spans: Vec<Span>) {
        if let Some(row) = self.cells.last_mut() {
            row.push(spans);
        }
    }

    /// Renders the table for this width.
    pub(super) fn rows(self, room: usize) -> Vec<Row> {
        let columns = self.alignment.len();
        let mut widths = vec![0; columns];
        for row in &self.cells {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(Row(cell.clone()).width()).max(1);
            }
        }
        shrink(&mut widths, room.saturating_sub(BETWEEN.chars().count() * columns.saturating_sub(1)));
        let mut rows = Vec::new();
        for (number, cells) in self.cells.iter().enumerate() {
            let style = if number == 0 { BOLD } else { PLAIN };
            rows.extend(self.row(cells, &widths, style).into_iter().map(|row| row.cut(room)));
            if number == 0 {
                let line: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                rows.push(Row::default().with(DIM, line.join("─┼─")).cut(room));
            }
        }
        rows
    }

    fn row(&self, cells: &[Vec<Span>], widths: &[usize], style: Style) -> Vec<Row> {
        let cells: Vec<Vec<Row>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| {
                let spans = cells.get(column).cloned().unwrap_or_default();
                let spans = spans.into_iter().map(|span| Span {
                    style: span.style.effects(span.style.get_effects() | style.get_effects()),
                    ..span
                });
                wrap(&spans.collect::<Vec<_>>(), *width)
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        (0..height).map(|line| self.line(&cells, widths, line)).collect()
    }

    fn line(&self, cells: &[Vec<Row>], widths: &[usize], line: usize) -> Row {
        let mut whole = Row::default();
        let last = widths.len().saturating_sub(1);
        for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if column > 0 {
                whole.push(DIM, BETWEEN);
            }
            let text = cell.get(line).cloned().unwrap_or_default();
            let free = width.saturating_sub(text.width());
            let left = match self.alignment[column] {
                Alignment::Right => free,
                Alignment::Center => free / 2,
                Alignment::Left | Alignment::None => 0,
            };
            whole.push(PLAIN, " ".repeat(left));
            whole = whole.then(text);
            // The last column needs no padding.
            whole.push(PLAIN, if column == last { String::new() } else { " ".repeat(free - left) });
        }
        whole
    }
}

/// Shrinks the widest columns until all fit or have the minimum width.
fn shrink(widths: &mut [usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max() else { return };
        if *widest <= MIN_WIDTH {
            return;
        }
        *widest -= 1;
    }
}
