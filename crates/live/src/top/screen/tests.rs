//! The effect of keys.

use super::testing::{id, listed, screen};
use super::*;

fn press(screen: &mut Screen, keys: &[KeyCode]) -> KeyEffect {
    let mut next = KeyEffect::Draw;
    for code in keys {
        next = screen.key(KeyEvent::new(*code, KeyModifiers::NONE));
    }
    next
}

fn pids(screen: &Screen) -> Vec<u32> {
    screen
        .shown()
        .iter()
        .map(|process| process.id.pid)
        .collect()
}

#[test]
fn what_is_covered_most_comes_first_and_keys_put_it_otherwise() {
    let mut screen = screen();
    assert_eq!(pids(&screen), [11, 12, 10]);
    press(&mut screen, &[KeyCode::Char('p')]);
    assert_eq!(pids(&screen), [10, 11, 12]);
    press(&mut screen, &[KeyCode::Char('o')]);
    assert_eq!(pids(&screen), [12, 11, 10]);
    press(&mut screen, &[KeyCode::Char('s')]);
    assert_eq!(screen.order, ListOrder::User);
    assert_eq!(pids(&screen), [12, 10, 11], "backwards by user");
    press(&mut screen, &[KeyCode::Left, KeyCode::Left]);
    assert_eq!(screen.order, ListOrder::Command);
}

#[test]
fn the_selected_process_stays_selected_where_the_order_changes() {
    let mut screen = screen();
    press(&mut screen, &[KeyCode::Down]);
    assert_eq!(screen.place(), 1);
    press(&mut screen, &[KeyCode::Char('p')]);
    assert_eq!(pids(&screen)[screen.place()], 12);
    press(&mut screen, &[KeyCode::End, KeyCode::Down]);
    assert_eq!(screen.place(), 2);
    press(&mut screen, &[KeyCode::Home, KeyCode::Up]);
    assert_eq!(screen.place(), 0);
    screen.take(vec![listed(99, 1)]);
    assert_eq!(screen.place(), 0);
    assert_eq!(
        press(&mut screen, &[KeyCode::Enter]),
        KeyEffect::Picture(id(99))
    );
}

#[test]
fn a_filter_is_typed_and_taken_away() {
    let mut screen = screen();
    press(
        &mut screen,
        &[
            KeyCode::Char('/'),
            KeyCode::Char('1'),
            KeyCode::Char('2'),
            KeyCode::Char('q'),
        ],
    );
    assert!(pids(&screen).is_empty());
    assert_eq!(
        press(&mut screen, &[KeyCode::Backspace, KeyCode::Enter]),
        KeyEffect::Draw
    );
    assert_eq!(pids(&screen), [12]);
    press(&mut screen, &[KeyCode::Esc]);
    assert_eq!(pids(&screen).len(), 3);
    // Arguments and users are looked through as well.
    for (filter, found) in [("size 400", 11), ("ann", 11)] {
        screen.filter = filter.to_owned();
        assert_eq!(pids(&screen), [found]);
    }
    screen.filter.clear();
    assert_eq!(press(&mut screen, &[KeyCode::Char('q')]), KeyEffect::Quit);
}

#[test]
fn other_pages_lead_back_and_control_c_ends_from_anywhere() {
    let mut screen = screen();
    press(&mut screen, &[KeyCode::Char('h')]);
    assert!(matches!(screen.page, ScreenPage::Help));
    assert_eq!(press(&mut screen, &[KeyCode::Char('q')]), KeyEffect::Draw);
    assert!(matches!(screen.page, ScreenPage::Processes));
    screen.page = ScreenPage::Process(id(10), None);
    press(&mut screen, &[KeyCode::Esc]);
    assert!(matches!(screen.page, ScreenPage::Processes));
    press(&mut screen, &[KeyCode::Char('/')]);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(screen.key(control_c), KeyEffect::Quit);
}

#[test]
fn nothing_can_be_selected_of_nothing() {
    let mut screen = Screen::new("4k".to_owned());
    assert_eq!(
        press(&mut screen, &[KeyCode::Down, KeyCode::Enter]),
        KeyEffect::Draw
    );
}

#[test]
fn use_is_measured_once_at_a_time_and_can_be_put_away() {
    let mut screen = screen();
    let u = [KeyCode::Char('u')];
    screen.page = ScreenPage::Process(id(10), None);
    assert_eq!(press(&mut screen, &u), KeyEffect::Heat(id(10)));
    screen.heat = Some((id(10), ScreenHeat::Watching));
    // Nothing begins while a process is watched, whichever is shown.
    assert_eq!(press(&mut screen, &u), KeyEffect::Draw);
    screen.page = ScreenPage::Process(id(11), None);
    assert_eq!(press(&mut screen, &u), KeyEffect::Draw);
    assert_eq!(screen.watched(), Some(id(10)));
    let known = (id(10), ScreenHeat::Unknown("a reason".to_owned()));
    screen.heat = Some(known.clone());
    assert_eq!(press(&mut screen, &u), KeyEffect::Heat(id(11)));
    screen.page = ScreenPage::Process(id(10), None);
    assert_eq!(screen.heat, Some(known));
    assert_eq!(press(&mut screen, &u), KeyEffect::Draw);
    assert_eq!(screen.heat, None);
    assert_eq!(press(&mut screen, &u), KeyEffect::Heat(id(10)));
}
