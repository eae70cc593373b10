/// The state of a group of services. Pure: it receives events and returns the actions to take.
struct ServiceGroupState {
    enum Action: Equatable {
        case askToEnd(Int)
        case cancelAll
    }

    /// The indices of the services that still run, in the order of their start.
    private(set) var running: [Int]
    private(set) var isShuttingDown = false
    private(set) var isCancelled = false
    /// The first error.
    private(set) var error: (any Error)?
    private let order: ServiceGroup.EndOrder
    private var asked: Set<Int> = []

    init(count: Int, order: ServiceGroup.EndOrder) {
        running = Array(0..<count)
        self.order = order
    }

    var isFinished: Bool { running.isEmpty }

    func wasAsked(_ index: Int) -> Bool { asked.contains(index) || isCancelled }

    mutating func shutDown() -> [Action] {
        if isShuttingDown { return [] }
        isShuttingDown = true
        return askNext()
    }

    mutating func cancel() -> [Action] {
        if isCancelled { return [] }
        isShuttingDown = true
        isCancelled = true
        return [.cancelAll]
    }

    mutating func deadlinePassed(names: [String], limit: Duration) -> [Action] {
        if isFinished || isCancelled { return [] }
        let late = running.map { names[$0] }.joined(separator: ", ")
        error =
            error
            ?? ServiceGroupError(code: .deadlineExceeded, message: "still running \(limit) after the shutdown: \(late)")
        return cancel()
    }

    /// - Parameter isCancelled: Whether the group's task is cancelled: then every service ends, which isn't an error.
    mutating func ended(_ index: Int, _ failure: (any Error)?, name: String, isCancelled: Bool) -> [Action] {
        running.removeAll { $0 == index }
        if isCancelled { self.isCancelled = true }
        if let failure {
            // A service that was asked to end may do so by cancelling its waits.
            let isExpected = failure is CancellationError && (self.isCancelled || asked.contains(index))
            if !isExpected { error = error ?? failure }
        } else if !isShuttingDown, !self.isCancelled {
            error =
                error
                ?? ServiceGroupError(
                    code: .serviceFinishedUnexpectedly, message: "service \(name) returned before it was asked to")
        }
        return isShuttingDown ? askNext() : shutDown()
    }

    private mutating func askNext() -> [Action] {
        let next =
            switch order {
            case .reversed: running.suffix(1)
            case .together: running[...]
            }
        return next.filter { asked.insert($0).inserted }.map { .askToEnd($0) }
    }
}
