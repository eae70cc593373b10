/// How often everything is searched for what is hardly ever there. In between only what has changed lately is searched.
struct SweepPace {
    /// The wait between two searches, if a search of everything is quick.
    let interval: Duration
    /// The longest wait between two searches of everything.
    static let longest = Duration.seconds(600)

    /// What has changed within this time is searched at every interval, so that a change is seen twice at least.
    var lately: Duration { interval * 3 }

    /// The wait after a search of everything that took so long. Such searches take at most a two-hundredth of the time, whatever is stored.
    func wait(after search: Duration) -> Duration { max(interval, min(search * 199, Self.longest)) }
}
