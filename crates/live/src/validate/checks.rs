//! The checks of a validation: the order of the settings, and the changes against 4 KiB pages.

use broadleaf_metrics::{
    ChangeCheck, MeasuredSetting, OrderCheck, PredictedSetting, ValidatedSetting, percentiles,
};

/// The least share of the user time that counts as a change.
const LARGE: f64 = 0.05;

/// Compares a predicted change of the user time with the measured one. Returns `None` if nothing
/// was predicted.
pub(super) fn change_of(
    measured: &MeasuredSetting,
    predicted: &PredictedSetting,
) -> Option<ChangeCheck> {
    let [_, saved, _] = measured.saved;
    let range = predicted.user_seconds?;
    Some(ChangeCheck {
        is_large: saved.abs() > LARGE,
        is_within_a_third: (predicted.saved? - saved).abs() <= saved.abs() / 3.0,
        is_in_range: (range.low..=range.high).contains(&measured.user_seconds.middle),
    })
}

/// Compares the order of all pairs of settings. The order of the two ends is no prediction.
pub(super) fn order_of(settings: &[ValidatedSetting]) -> OrderCheck {
    let mut check = OrderCheck::default();
    for (at, one) in settings.iter().enumerate() {
        for other in &settings[at + 1..] {
            let rounds = one.runs.iter().zip(&other.runs);
            let differences: Vec<f64> = rounds
                .map(|(one, other)| one.user_seconds - other.user_seconds)
                .collect();
            let (Some([low, _, high]), false) =
                (percentiles(&differences), one.is_end && other.is_end)
            else {
                continue;
            };
            let predicted = [one, other].map(|one| one.predicted.user_seconds);
            let [Some(of_one), Some(of_other)] = predicted else {
                continue;
            };
            if low <= 0.0 && high >= 0.0 {
                continue;
            }
            check.compared += 1;
            let (fast, slow) = if low > 0.0 {
                (other, one)
            } else {
                (one, other)
            };
            let is_slower = of_one.middle > of_other.middle;
            let is_faster = of_one.middle < of_other.middle;
            if (low > 0.0 && is_slower) || (high < 0.0 && is_faster) {
                check.agreeing += 1;
            } else {
                check
                    .disagreeing
                    .push([fast.name.clone(), slow.name.clone()]);
            }
        }
    }
    check
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadleaf_metrics::{RunFigures, SecondsRange, WholePrediction};

    /// A setting whose runs take these times, and which is predicted to take `predicted`.
    fn setting(name: &str, runs: [f64; 3], predicted: f64) -> ValidatedSetting {
        let run = |user_seconds| RunFigures {
            user_seconds,
            ..RunFigures::default()
        };
        ValidatedSetting {
            name: name.to_owned(),
            policy: String::new(),
            is_end: false,
            measured: MeasuredSetting::default(),
            predicted: PredictedSetting {
                user_seconds: Some(SecondsRange {
                    low: predicted,
                    middle: predicted,
                    high: predicted,
                }),
                ..PredictedSetting::default()
            },
            whole: WholePrediction::default(),
            change: None,
            runs: runs.map(run).to_vec(),
        }
    }

    #[test]
    fn only_settings_that_differ_by_more_than_their_spread_are_ordered() {
        let slow = setting("slow", [2.0, 2.1, 2.2], 2.0);
        let fast = setting("fast", [1.0, 1.1, 1.2], 1.0);
        let found = order_of(&[slow.clone(), fast.clone()]);
        assert_eq!((found.compared, found.agreeing), (1, 1));

        let noisy = setting("noisy", [1.5, 2.5, 2.0], 1.0);
        let found = order_of(&[slow.clone(), noisy]);
        assert_eq!(found.compared, 0);

        let wrong = setting("wrong", [1.0, 1.1, 1.2], 3.0);
        let found = order_of(&[wrong, slow]);
        assert_eq!((found.compared, found.agreeing), (1, 0));
        let pair = ["wrong", "slow"].map(str::to_owned);
        assert_eq!(found.disagreeing, [pair]);
    }

    /// A tie is no order.
    #[test]
    fn equal_predictions_do_not_agree_with_a_measured_order() {
        let slow = setting("slow", [2.0, 2.1, 2.2], 1.0);
        let fast = setting("fast", [1.0, 1.1, 1.2], 1.0);
        let found = order_of(&[slow, fast]);
        assert_eq!((found.compared, found.agreeing), (1, 0));
    }

    #[test]
    fn the_order_of_the_two_ends_is_no_prediction() {
        let mut ends = [
            setting("never", [2.0, 2.1, 2.2], 2.0),
            setting("all huge", [1.0, 1.1, 1.2], 1.0),
        ];
        for end in &mut ends {
            end.is_end = true;
        }
        assert_eq!(order_of(&ends).compared, 0);
    }

    #[test]
    fn a_change_is_within_a_third_of_the_measured_one() {
        let measured = |saved| MeasuredSetting {
            saved: [saved; 3],
            user_seconds: SecondsRange {
                low: 0.0,
                middle: 1.0,
                high: 2.0,
            },
            ..MeasuredSetting::default()
        };
        let predicted = |saved| PredictedSetting {
            saved: Some(saved),
            user_seconds: Some(SecondsRange {
                low: 0.9,
                middle: 1.0,
                high: 1.1,
            }),
            ..PredictedSetting::default()
        };
        let check = |m, p| change_of(&measured(m), &predicted(p)).unwrap();
        assert!(check(0.3, 0.21).is_within_a_third && check(0.3, 0.21).is_large);
        assert!(!check(0.3, 0.19).is_within_a_third);
        assert!(check(-0.3, -0.39).is_within_a_third && !check(-0.3, 0.3).is_within_a_third);
        assert!(!check(0.04, 0.04).is_large && check(0.04, 0.04).is_in_range);
        assert_eq!(
            change_of(&measured(0.3), &PredictedSetting::default()),
            None
        );
    }
}
