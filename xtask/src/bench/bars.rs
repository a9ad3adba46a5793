//! A plot of what a dispatch costs: Vertebra beside its peers, on a logarithmic scale.

use super::binary::VERTEBRA;
use super::number::{chosen, time};
use super::results::Results;
use super::svg::{Anchor, Drawing, GRID, INK, LABEL, OURS, QUIET, SMALL, Type};

const GROUPS: [(&str, &str); 5] = [
    ("no_hook", "no hook"),
    ("one_hook", "one hook"),
    ("ten_hooks", "ten hooks"),
    ("tools_1000", "1 000 tool names"),
    ("regex_1000", "1 000 command regexes"),
];

/// Warm colours for engines, greys for the bounds below which no engine gets.
const THEIRS: [&str; 6] = ["#d9822b", "#3f9b6c", "#8a94a3", "#b9c0ca", "#a680b8", "#c7b36a"];

const WIDTH: f64 = 960.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 80.0;
const TOP: f64 = 104.0;
const BAR: f64 = 17.0;
const GAP: f64 = 18.0;

struct Bar<'a> {
    name: &'a str,
    fill: &'static str,
    ns: f64,
}

pub(crate) fn draw(results: &Results) -> String {
    let contenders = contenders(results);
    let groups: Vec<_> = GROUPS.iter().map(|(case, title)| (*title, bars(results, case, &contenders))).collect();
    let bars_height: f64 = groups.iter().map(|(_, bars)| height(bars)).sum();
    let bottom = TOP + bars_height;
    let largest = groups.iter().flat_map(|(_, bars)| bars).map(|bar| bar.ns).fold(10.0, f64::max);
    let decades = largest.log10().ceil();
    let x = |ns: f64| LEFT + ns.max(1.0).log10() / decades * (WIDTH - LEFT - RIGHT);

    let mut drawing = Drawing::new(WIDTH, bottom + 64.0, "What one dispatch costs");
    let subtitle = format!("median, logarithmic, shorter is faster · {} · {}", results.date, results.machine);
    drawing.text((24.0, 54.0), Anchor::Start, SMALL, &subtitle);
    legend(&mut drawing, &contenders);
    axis(&mut drawing, decades, bottom, x);
    let mut top = TOP;
    for (title, bars) in &groups {
        group(&mut drawing, title, bars, top, x);
        top += height(bars);
    }
    drawing.finish()
}

/// Everybody who dispatches, with a colour, Vertebra first.
fn contenders(results: &Results) -> Vec<(&str, &'static str)> {
    let peers = results.peers().into_iter().zip(THEIRS.into_iter().cycle());
    std::iter::once((VERTEBRA, OURS)).chain(peers).collect()
}

fn bars<'a>(results: &Results, case: &str, contenders: &[(&'a str, &'static str)]) -> Vec<Bar<'a>> {
    let measured = |(name, fill): &(&'a str, &'static str)| Some(Bar { name, fill, ns: results.find(name, case)?.ns });
    contenders.iter().filter_map(measured).collect()
}

fn height(bars: &[Bar<'_>]) -> f64 {
    bars.iter().map(|_| BAR).sum::<f64>() + GAP
}

fn legend(drawing: &mut Drawing, contenders: &[(&str, &'static str)]) {
    let mut x = LEFT;
    for (name, fill) in contenders {
        drawing.rect((x, 70.0), (12.0, 12.0), fill);
        drawing.text((x + 17.0, 81.0), Anchor::Start, LABEL, shown(name));
        x += 17.0 + shown(name).chars().map(|_| 7.5).sum::<f64>() + 22.0;
    }
}

fn axis(drawing: &mut Drawing, decades: f64, bottom: f64, x: impl Fn(f64) -> f64) {
    let mut ns = 1.0_f64;
    while ns.log10() <= decades + 0.01 {
        drawing.line((x(ns), TOP - 8.0), (x(ns), bottom), GRID);
        drawing.text((x(ns), bottom + 18.0), Anchor::Middle, SMALL, &chosen(&time(ns)));
        ns *= 10.0;
    }
    drawing.line((LEFT, TOP - 8.0), (LEFT, bottom), QUIET);
    drawing.text(((LEFT + WIDTH - RIGHT) / 2.0, bottom + 44.0), Anchor::Middle, LABEL, "time of one dispatch");
}

fn group(drawing: &mut Drawing, title: &str, bars: &[Bar<'_>], top: f64, x: impl Fn(f64) -> f64) {
    let middle = top + (height(bars) - GAP) / 2.0;
    drawing.text((LEFT - 12.0, middle + 4.5), Anchor::End, LABEL, title);
    let mut y = top;
    for bar in bars {
        let font = if bar.name == VERTEBRA { Type { weight: "bold", fill: INK, ..SMALL } } else { SMALL };
        drawing.rect((LEFT, y), (x(bar.ns) - LEFT, BAR - 3.0), bar.fill);
        drawing.text((x(bar.ns) + 6.0, y + 11.5), Anchor::Start, font, &time(bar.ns));
        y += BAR;
    }
}

fn shown(name: &str) -> &str {
    if name == VERTEBRA { "Vertebra" } else { name }
}

#[cfg(test)]
mod tests {
    use super::super::measurement::tests::measured;
    use super::*;

    #[test]
    fn a_bar_carries_its_value_and_a_tenth_of_the_time_is_a_decade_shorter() {
        let svg =
            draw(&Results::of([measured(VERTEBRA, "one_hook", 100.0, 1.0), measured("a3s", "one_hook", 1000.0, 1.0)]));

        // Three decades share 690 units.
        assert!(svg.contains(r##"width="460.0" height="14.0" fill="#1f5fbf"/>"##), "{svg}");
        assert!(svg.contains(r##"width="690.0" height="14.0" fill="#d9822b"/>"##), "{svg}");
        assert!(svg.contains(">100 ns</text>") && svg.contains(">1.00 µs</text>"), "{svg}");
    }

    #[test]
    fn without_peers_vertebra_stands_alone() {
        let svg = draw(&Results::of([measured(VERTEBRA, "no_hook", 17.0, 1.0)]));

        assert!(svg.contains(">Vertebra</text>") && !svg.contains(">a3s</text>"), "{svg}");
    }
}
