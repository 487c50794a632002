//! What keys do.

use super::testing::{id, listed, state};
use super::*;

fn press(state: &mut State, keys: &[KeyCode]) -> Next {
    let mut next = Next::Draw;
    for code in keys {
        next = state.key(KeyEvent::new(*code, KeyModifiers::NONE));
    }
    next
}

fn pids(state: &State) -> Vec<u32> {
    state.shown().iter().map(|process| process.id.pid).collect()
}

#[test]
fn what_is_covered_most_comes_first_and_keys_put_it_otherwise() {
    let mut state = state();
    assert_eq!(pids(&state), [11, 12, 10]);
    press(&mut state, &[KeyCode::Char('p')]);
    assert_eq!(pids(&state), [10, 11, 12]);
    press(&mut state, &[KeyCode::Char('o')]);
    assert_eq!(pids(&state), [12, 11, 10]);
    press(&mut state, &[KeyCode::Char('s')]);
    assert_eq!(state.order, Order::User);
    assert_eq!(pids(&state), [12, 10, 11], "backwards by user");
    press(&mut state, &[KeyCode::Left, KeyCode::Left]);
    assert_eq!(state.order, Order::Command);
}

#[test]
fn the_selected_process_stays_selected_where_the_order_changes() {
    let mut state = state();
    press(&mut state, &[KeyCode::Down]);
    assert_eq!(state.place(), 1);
    press(&mut state, &[KeyCode::Char('p')]);
    assert_eq!(pids(&state)[state.place()], 12);
    press(&mut state, &[KeyCode::End, KeyCode::Down]);
    assert_eq!(state.place(), 2);
    press(&mut state, &[KeyCode::Home, KeyCode::Up]);
    assert_eq!(state.place(), 0);
    state.take(vec![listed(99, 1)]);
    assert_eq!(state.place(), 0);
    assert_eq!(press(&mut state, &[KeyCode::Enter]), Next::Picture(id(99)));
}

#[test]
fn a_filter_is_typed_and_taken_away() {
    let mut state = state();
    press(
        &mut state,
        &[
            KeyCode::Char('/'),
            KeyCode::Char('1'),
            KeyCode::Char('2'),
            KeyCode::Char('q'),
        ],
    );
    assert!(pids(&state).is_empty());
    assert_eq!(
        press(&mut state, &[KeyCode::Backspace, KeyCode::Enter]),
        Next::Draw
    );
    assert_eq!(pids(&state), [12]);
    press(&mut state, &[KeyCode::Esc]);
    assert_eq!(pids(&state).len(), 3);
    // Arguments and users are looked through as well.
    for (filter, found) in [("size 400", 11), ("ann", 11)] {
        state.filter = filter.to_owned();
        assert_eq!(pids(&state), [found]);
    }
    state.filter.clear();
    assert_eq!(press(&mut state, &[KeyCode::Char('q')]), Next::Quit);
}

#[test]
fn other_pages_lead_back_and_control_c_ends_from_anywhere() {
    let mut state = state();
    press(&mut state, &[KeyCode::Char('h')]);
    assert!(matches!(state.page, Page::Help));
    assert_eq!(press(&mut state, &[KeyCode::Char('q')]), Next::Draw);
    assert!(matches!(state.page, Page::Processes));
    state.page = Page::Process(id(10), None);
    press(&mut state, &[KeyCode::Esc]);
    assert!(matches!(state.page, Page::Processes));
    press(&mut state, &[KeyCode::Char('/')]);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(state.key(control_c), Next::Quit);
}

#[test]
fn nothing_can_be_selected_of_nothing() {
    let mut state = State::new("4k".to_owned());
    assert_eq!(
        press(&mut state, &[KeyCode::Down, KeyCode::Enter]),
        Next::Draw
    );
}
