//! A small pen for SVG: boxes, lines and words on a light ground.

use std::fmt::Write as _;

pub(crate) const INK: &str = "#222222";
pub(crate) const QUIET: &str = "#666666";
pub(crate) const GRID: &str = "#dddddd";
pub(crate) const OURS: &str = "#1f5fbf";

/// A drawing of fixed size; what is drawn later lies on top.
pub(crate) struct Drawing {
    width: f64,
    height: f64,
    title: String,
    body: String,
}

/// Where a word stands relative to its point.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How words look.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) size: f64,
    pub(crate) weight: &'static str,
    pub(crate) fill: &'static str,
}

pub(crate) const TITLE: Type = Type { size: 18.0, weight: "bold", fill: INK };
pub(crate) const LABEL: Type = Type { size: 13.0, weight: "normal", fill: INK };
pub(crate) const SMALL: Type = Type { size: 12.0, weight: "normal", fill: QUIET };

impl Drawing {
    pub(crate) fn new(width: f64, height: f64, title: &str) -> Self {
        let mut drawing = Self { width, height, title: title.to_owned(), body: String::new() };
        drawing.rect((0.0, 0.0), (width, height), "#ffffff");
        drawing.text((24.0, 32.0), Anchor::Start, TITLE, title);
        drawing
    }

    pub(crate) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str) {
        self.push(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#
        ));
    }

    pub(crate) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), stroke: &str) {
        self.push(format_args!(r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{stroke}"/>"#));
    }

    pub(crate) fn dashed(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), stroke: &str) {
        self.push(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{stroke}" stroke-dasharray="6 4"/>"#
        ));
    }

    /// A line through all points, with a dot on each.
    pub(crate) fn path(&mut self, points: &[(f64, f64)], stroke: &str) {
        let list: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.push(format_args!(
            r#"<polyline points="{}" fill="none" stroke="{stroke}" stroke-width="2"/>"#,
            list.join(" ")
        ));
        for (x, y) in points {
            self.push(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="4" fill="{stroke}"/>"#));
        }
    }

    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, font: Type, words: &str) {
        self.turned(at, 0.0, anchor, font, words);
    }

    /// Words turned by an angle around their point. Their white rim keeps lines of the grid out of the digits.
    pub(crate) fn turned(&mut self, (x, y): (f64, f64), angle: f64, anchor: Anchor, font: Type, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let Type { size, weight, fill } = font;
        let turn = if angle == 0.0 { String::new() } else { format!(r#" transform="rotate({angle} {x:.1} {y:.1})""#) };
        self.push(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{fill}" stroke="white" stroke-width="3" paint-order="stroke"{turn}>{}</text>"#,
            escaped(words)
        ));
    }

    pub(crate) fn finish(self) -> String {
        let Self { width, height, title, body } = self;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif">
<title>{}</title>
{body}</svg>
"#,
            escaped(&title)
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("a string takes everything");
    }
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cannot_become_elements() {
        let mut drawing = Drawing::new(10.0, 10.0, "a < b & c");
        drawing.text((1.0, 2.0), Anchor::End, LABEL, "<script>\"x\"</script>");
        let svg = drawing.finish();

        assert!(svg.contains("<title>a &lt; b &amp; c</title>"), "{svg}");
        assert!(svg.contains(">&lt;script&gt;&quot;x&quot;&lt;/script&gt;</text>"), "{svg}");
        assert!(!svg.contains("<script>"), "{svg}");
    }

    #[test]
    fn every_element_stands_inside_of_the_drawing() {
        let svg = Drawing::new(10.0, 20.0, "x").finish();

        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains(r#"viewBox="0 0 10 20""#), "{svg}");
    }
}
