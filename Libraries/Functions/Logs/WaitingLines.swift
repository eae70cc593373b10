import EventLoop
import Texts

/// The lines that wait to be stored. The apps take turns, and an app may have another one waiting only while more places are free than
/// it has: one that writes lines without end loses its own, and no other's. Pure.
struct WaitingLines {
    private let capacity: Int
    private var turns = Turns<ExactText, FunctionLogs.Line>()

    /// - Parameter capacity: how many lines of all apps may wait. A single app may have half of them.
    init(capacity: Int) { self.capacity = capacity }

    /// Adds a line, if its app may have another one waiting.
    mutating func add(_ line: FunctionLogs.Line) -> Bool {
        let app = ExactText(line.app)
        guard turns.count(of: app) < capacity - turns.count else { return false }
        turns.append(line, of: app)
        return true
    }

    /// Removes and returns up to `limit` lines; those of an app are in their order.
    mutating func take(_ limit: Int) -> [FunctionLogs.Line] {
        var taken: [FunctionLogs.Line] = []
        while taken.count < limit, let next = turns.pop(where: { _ in true }) { taken.append(next.work) }
        return taken
    }
}
