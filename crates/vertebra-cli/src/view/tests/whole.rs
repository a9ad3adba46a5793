//! What stays on the screen of a whole run.

use super::{Canvas, Output, Paper, Showing, people, scenes, shown};

fn plain(canvas: Canvas) -> Showing {
    Showing { canvas, ..people(false).0 }
}

/// A terminal of this size after the run, as a person sees it.
fn screen(paper: &Paper, height: u16) -> String {
    let width = u16::try_from(paper.width).expect("a width");
    let mut terminal = vt100::Parser::new(height, width, 0);
    terminal.process(paper.all.replace('\n', "\r\n").as_bytes());
    terminal.screen().contents()
}

#[tokio::test]
async fn a_task_is_pleasant_to_follow() {
    let events = scenes::task().await;
    insta::assert_snapshot!("task-100", shown(&events, &people(false).0, 100).written());
    insta::assert_snapshot!("task-40", shown(&events, &people(false).0, 40).written());
    insta::assert_snapshot!("task-100-colour", shown(&events, &people(true).0, 100).written());
    insta::assert_snapshot!("task-plain", shown(&events, &plain(Canvas::Dumb), 80).written());
}

#[tokio::test]
async fn questions_failures_notices_and_limits_are_told() {
    let events = scenes::trouble().await;
    insta::assert_snapshot!("trouble-100", shown(&events, &people(false).0, 100).written());
    insta::assert_snapshot!("trouble-40", shown(&events, &people(false).0, 40).written());
    insta::assert_snapshot!("trouble-plain", shown(&events, &plain(Canvas::Pipe), 80).written());
}

#[tokio::test]
async fn an_answer_that_broke_off_is_marked_and_replaced() {
    let events = scenes::away().await;
    insta::assert_snapshot!("away-80", shown(&events, &people(false).0, 80).written());
    let paper = shown(&events, &plain(Canvas::Pipe), 80);
    assert_eq!(paper.answer, "The greeting is fine.\n");
    insta::assert_snapshot!("away-plain", paper.written());
}

#[tokio::test]
async fn children_stand_under_the_call_they_work_for() {
    let events = scenes::delegation().await;
    insta::assert_snapshot!("delegation-100", shown(&events, &people(false).0, 100).written());
}

#[tokio::test]
async fn a_failure_says_what_to_do_next() {
    let events = scenes::failure().await;
    insta::assert_snapshot!("failure-60", shown(&events, &people(false).0, 60).written());
}

#[tokio::test]
async fn a_pipe_gets_the_answer_alone_and_the_rest_goes_elsewhere() {
    let events = scenes::task().await;
    let paper = shown(&events, &plain(Canvas::Pipe), 80);
    assert!(paper.answer.starts_with("The greeting is **fixed**: `helo`"), "{}", paper.answer);
    assert!(paper.answer.ends_with("```sh\ncargo run\n```\n"), "{}", paper.answer);
    assert!(paper.all.contains("no-deletions"), "{}", paper.all);
    assert_eq!(paper.all.matches("The greeting is **fixed**").count(), 1);
}

#[tokio::test]
async fn quiet_is_the_answer_and_nothing_else() {
    let events = scenes::task().await;
    let quiet = |canvas| shown(&events, &Showing { quiet: true, ..plain(canvas) }, 80);
    for canvas in [Canvas::Terminal, Canvas::Dumb, Canvas::Pipe] {
        let paper = quiet(canvas);
        assert_eq!(paper.all, paper.answer);
        assert!(paper.all.starts_with("The greeting is **fixed**"), "{}", paper.all);
    }
    let failed = shown(&scenes::failure().await, &Showing { quiet: true, ..plain(Canvas::Pipe) }, 80);
    assert_eq!(failed.answer, "");
    assert!(failed.all.contains("no such key"), "{}", failed.all);
}

#[tokio::test]
async fn nothing_of_the_model_moves_the_cursor_whatever_the_view() {
    let events = scenes::trouble().await;
    for output in [Output::Text, Output::Json, Output::StreamJson] {
        for canvas in [Canvas::Terminal, Canvas::Dumb, Canvas::Pipe] {
            let paper = shown(&events, &Showing { output, ..plain(canvas) }, 60);
            let moves = |c: &char| c.is_control() && *c != '\n';
            assert_eq!(paper.all.chars().find(moves), None, "{output:?} {canvas:?}");
            assert!(output != Output::Text || !paper.all.contains('\u{202e}'), "{canvas:?}");
        }
    }
}

#[tokio::test]
async fn no_row_is_wider_than_the_screen_except_code() {
    let events = scenes::task().await;
    for width in [20, 40, 100, 200] {
        let paper = shown(&events, &people(false).0, width);
        for line in paper.all.lines() {
            assert!(crate::view::text::width(line) <= width, "{width}: {line}");
        }
        let seen = screen(&paper, 200);
        assert_eq!(seen.trim_end(), paper.all.trim_end(), "a terminal of {width} columns shows what was written");
    }
}
