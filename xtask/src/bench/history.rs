//! A plot of what a turn costs against the length of the history before it: a flat line is the promise.

use super::binary::VERTEBRA;
use super::number::{chosen, ratio, time};
use super::results::Results;
use super::svg::{Anchor, Drawing, GRID, LABEL, OURS, QUIET, SMALL};

const LENGTHS: [(f64, &str, &str); 4] = [
    (10.0, "turn_at_10", "10"),
    (100.0, "turn_at_100", "100"),
    (1000.0, "turn_at_1000", "1 000"),
    (10_000.0, "turn_at_10000", "10 000"),
];

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 108.0;
const BOTTOM: f64 = HEIGHT - 70.0;
const FASTEST: &str = "#9dbbe6";

struct Point {
    messages: f64,
    ns: f64,
    min_ns: f64,
}

pub(crate) fn draw(results: &Results) -> String {
    let points: Vec<_> = LENGTHS
        .iter()
        .filter_map(|(messages, case, _)| {
            let measured = results.find(VERTEBRA, case)?;
            Some(Point { messages: *messages, ns: measured.ns, min_ns: measured.min_ns })
        })
        .collect();
    let (step, top) = scale(points.iter().map(|point| point.ns).fold(1.0, f64::max));
    // From a little before 10 to a little after 10 000, so that no value is cut off.
    let x = |messages: f64| LEFT + (messages.log10() - 0.8) / 3.4 * (WIDTH - LEFT - RIGHT);
    let y = |ns: f64| BOTTOM - ns / top * (BOTTOM - TOP);

    let mut drawing = Drawing::new(WIDTH, HEIGHT, "What a turn costs as the history grows");
    drawing.text((24.0, 54.0), Anchor::Start, SMALL, &subtitle(results, &points));
    legend(&mut drawing);
    drawing.text((LEFT - 10.0, y(0.0) + 4.0), Anchor::End, SMALL, "0");
    let mut ns = step;
    while ns <= top {
        drawing.line((LEFT, y(ns)), (WIDTH - RIGHT, y(ns)), GRID);
        drawing.text((LEFT - 10.0, y(ns) + 4.0), Anchor::End, SMALL, &chosen(&time(ns)));
        ns += step;
    }
    for (messages, _, label) in LENGTHS {
        drawing.text((x(messages), BOTTOM + 20.0), Anchor::Middle, SMALL, label);
    }
    drawing.line((LEFT, BOTTOM), (WIDTH - RIGHT, BOTTOM), QUIET);
    drawing.text(((LEFT + WIDTH - RIGHT) / 2.0, BOTTOM + 48.0), Anchor::Middle, LABEL, "messages before the turn");
    drawing.turned((24.0, f64::midpoint(TOP, BOTTOM)), -90.0, Anchor::Middle, LABEL, "time of one tool-call turn");
    if let Some(first) = points.first() {
        drawing.dashed((LEFT, y(first.ns)), (WIDTH - RIGHT, y(first.ns)), QUIET);
    }
    drawing.path(&points.iter().map(|point| (x(point.messages), y(point.min_ns))).collect::<Vec<_>>(), FASTEST);
    drawing.path(&points.iter().map(|point| (x(point.messages), y(point.ns))).collect::<Vec<_>>(), OURS);
    for point in &points {
        drawing.text((x(point.messages), y(point.ns) - 14.0), Anchor::Middle, LABEL, &time(point.ns));
        drawing.text((x(point.messages), y(point.min_ns) + 24.0), Anchor::Middle, SMALL, &time(point.min_ns));
    }
    drawing.finish()
}

fn subtitle(results: &Results, points: &[Point]) -> String {
    let growth = match (points.first(), points.last()) {
        (Some(first), Some(last)) if points.len() > 1 => {
            format!("a thousand times the history: {} the time", ratio(last.ns / first.ns))
        }
        _ => "not measured".to_owned(),
    };
    format!("{growth} · ten hooks, journal in memory · {} · {}", results.date, results.machine)
}

fn legend(drawing: &mut Drawing) {
    for (x, stroke, label) in [(LEFT, OURS, "median"), (LEFT + 100.0, FASTEST, "fastest sample")] {
        drawing.path(&[(x, 77.0), (x + 24.0, 77.0)], stroke);
        drawing.text((x + 34.0, 81.5), Anchor::Start, LABEL, label);
    }
    drawing.dashed((LEFT + 254.0, 77.0), (LEFT + 284.0, 77.0), QUIET);
    drawing.text((LEFT + 292.0, 81.5), Anchor::Start, LABEL, "flat");
}

/// A round step between lines of the grid, and where the scale ends: with room above the largest value.
fn scale(largest: f64) -> (f64, f64) {
    let rough = largest / 4.0;
    let power = 10.0_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|it| it * power).find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    (step, (largest * 1.15 / step).ceil() * step)
}

#[cfg(test)]
mod tests {
    use super::super::measurement::tests::measured;
    use super::*;

    #[test]
    fn the_scale_is_round_and_leaves_room_above_the_largest_value() {
        assert_eq!(scale(9600.0), (2500.0, 12_500.0));
        assert_eq!(scale(80.0), (20.0, 100.0));
    }

    #[test]
    fn the_growth_from_the_shortest_to_the_longest_history_is_told() {
        let svg = draw(&Results::of([
            measured(VERTEBRA, "turn_at_10", 8000.0, 8000.0),
            measured(VERTEBRA, "turn_at_10000", 10_000.0, 9000.0),
        ]));

        assert!(svg.contains("a thousand times the history: 1.25 × the time"), "{svg}");
    }

    #[test]
    fn a_plot_of_nothing_is_still_a_drawing() {
        assert!(draw(&Results::of([])).contains("not measured"));
    }
}
