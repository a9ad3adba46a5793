//! What a reader gets: the table, and above it what one has to know to read it.

use super::binary::VERTEBRA;
use super::measurement::Measurement;
use super::number::{count, kibibytes, nearly_whole, ratio, time};
use super::results::Results;
use super::table::{Cell, Column, Line, Paint, Side, Table, Tone};
use super::targets::{CASES, Case, Target, Verdict};

const LEGEND: [&str; 3] = [
    "Vertebra: median time of an iteration, and below it the fastest sample; of two passes the lower of each.",
    "Peers: median time, how many times Vertebra's that is (below 1 the peer is faster), and instructions if counted.",
    "Targets are judged by the median; `(min met)` says that the fastest sample meets what the median misses.",
];

pub(crate) fn terminal(results: &Results, paint: Paint) -> String {
    let Results { date, machine, .. } = results;
    format!("{date}, {machine}\n{}\n\n{}", remarks(results).join("\n"), table(results).terminal(paint))
}

pub(crate) fn markdown(results: &Results) -> String {
    let Results { date, machine, .. } = results;
    let remarks = remarks(results).join("\n- ");
    format!("# Measured {date}\n\n{machine}.\n\n- {remarks}\n\n{}", table(results).markdown())
}

fn remarks(results: &Results) -> Vec<String> {
    let notes = results.notes.iter().map(|note| format!("Note: {note}."));
    LEGEND.map(str::to_owned).into_iter().chain(notes).collect()
}

/// The cases that were measured, each in a row.
fn table(results: &Results) -> Table {
    let peers = results.peers();
    let left = |title: &str| Column { title: title.to_owned(), side: Side::Left };
    let right = |title: &str| Column { title: title.to_owned(), side: Side::Right };
    let mut columns = vec![left("case"), right("Vertebra"), right("allocs"), right("instr.")];
    columns.extend(peers.iter().map(|peer| right(peer)));
    columns.extend([left("target"), left("result")]);
    let rows = CASES.iter().filter_map(|case| row(case, &peers, results)).collect();
    Table { columns, rows }
}

fn row(case: &Case, peers: &[&str], results: &Results) -> Option<Vec<Cell>> {
    let ours = results.find(VERTEBRA, case.name)?;
    let mut row = vec![
        vec![Line::new(Tone::Plain, case.title)],
        cost(case, ours),
        vec![Line::new(Tone::Plain, nearly_whole(ours.allocs))],
        vec![Line::new(Tone::Plain, ours.instructions.map_or_else(|| "–".to_owned(), count))],
    ];
    row.extend(
        peers.iter().map(|peer| results.find(peer, case.name).map_or_else(Vec::new, |theirs| beside(theirs, ours))),
    );
    row.push(case.targets.iter().map(|target| Line::new(Tone::Plain, target.text())).collect());
    row.push(case.targets.iter().map(|target| verdict(target.judge(case.name, results))).collect());
    Some(row)
}

/// What is asked of a session is its size, of all others their time.
fn cost(case: &Case, ours: &Measurement) -> Cell {
    let asks_for_size = case.targets.iter().any(|target| matches!(target, Target::Bytes(_)));
    let mut cell =
        vec![Line::new(Tone::Plain, time(ours.ns)), Line::new(Tone::Quiet, format!("min {}", time(ours.min_ns)))];
    if asks_for_size {
        cell.insert(0, Line::new(Tone::Plain, kibibytes(ours.bytes)));
    }
    cell
}

fn beside(theirs: &Measurement, ours: &Measurement) -> Cell {
    let mut cell = vec![Line::new(Tone::Plain, time(theirs.ns)), Line::new(Tone::Quiet, ratio(theirs.ns / ours.ns))];
    cell.extend(theirs.instructions.map(|instructions| Line::new(Tone::Quiet, format!("{} i", count(instructions)))));
    cell
}

fn verdict(verdict: Verdict) -> Line {
    match verdict {
        Verdict::Met(text) => Line::new(Tone::Good, text),
        Verdict::Missed(text) => Line::new(Tone::Bad, text),
        Verdict::NotMeasured => Line::new(Tone::Quiet, "not measured"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::measurement::tests::measured;
    use super::*;

    #[test]
    fn a_row_shows_vertebra_beside_its_peers_and_what_it_was_to_hold() {
        let results = Results::of([
            measured(VERTEBRA, "one_hook", 200.0, 190.0),
            Measurement { instructions: Some(734.0), ..measured("rig", "one_hook", 110.0, 100.0) },
        ]);

        assert_eq!(
            table(&results).markdown(),
            "| case | Vertebra | allocs | instr. | rig | target | result |\n\
             | --- | ---: | ---: | ---: | ---: | --- | --- |\n\
             | one hook | 200 ns<br>min 190 ns | 2 | – | 110 ns<br>0.55 ×<br>734 i | rig ≥ 1 ×<br>a3s ≥ 80 ×<br>≤ 1 allocations | **missed: 0.55 ×**<br>not measured<br>**missed: 2** |\n"
        );
    }

    #[test]
    fn an_idle_session_shows_its_size() {
        let results = Results::of([measured(VERTEBRA, "idle_session", 3000.0, 3000.0)]);

        assert!(markdown(&results).contains("| idle session | 1.00 KiB<br>3.00 µs<br>"), "{}", markdown(&results));
    }

    #[test]
    fn what_was_left_out_is_said_above_the_table() {
        let mut results = Results::of([]);
        results.notes.push("rig did not build and was left out".to_owned());

        assert!(terminal(&results, Paint::Plain).contains("\nNote: rig did not build and was left out.\n"));
        assert!(markdown(&results).contains("\n- Note: rig did not build and was left out.\n"));
    }
}
