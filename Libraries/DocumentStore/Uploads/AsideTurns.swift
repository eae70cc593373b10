import DocumentModel

/// Whose turn it is to commit what would delay others: one batch at a time for all lanes, beside its lane, which goes on meanwhile
/// with what it doesn't touch. Lanes that wait for their turn have it in the order in which they came.
struct AsideTurns<Lane: Hashable> {
    private var running: (lane: Lane, partitions: Set<ExactText>)?
    private var line: [Lane] = []

    /// The partitions of a lane that are being committed aside. What else is written to them has to wait.
    func partitions(of lane: Lane) -> Set<ExactText> {
        guard let running, running.lane == lane else { return [] }
        return running.partitions
    }

    /// Begins a lane's turn, or lets it wait in line.
    /// - Returns: whether it has begun; then ``end()`` has to be called.
    mutating func begin(_ lane: Lane, partitions: @autoclosure () -> Set<ExactText>) -> Bool {
        guard running == nil, line.first ?? lane == lane else {
            if !line.contains(lane) { line.append(lane) }
            return false
        }
        leave(lane)
        running = (lane, partitions())
        return true
    }

    /// Takes a lane from the line that has nothing more for its turn.
    mutating func leave(_ lane: Lane) { line.removeAll { $0 == lane } }

    mutating func end() { running = nil }

    /// The lane that may begin its turn; `nil` while another has it, or when none waits.
    var next: Lane? { running == nil ? line.first : nil }
}
