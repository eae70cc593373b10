import SyncEngine

/// The steps of a random history. Each decides by its own number what happens, so that a history without some of them is one, too.
public enum SeededSteps {
    public static func make(_ count: Int, seed: UInt64) -> [UInt64] {
        var generator = SeededGenerator(seed: seed)
        return (0..<count).map { _ in generator.next() }
    }

    /// A part of a history that fails that still fails, and that doesn't when another step is left out.
    public static func shrunk(_ steps: [UInt64], fails: ([UInt64]) -> Bool) -> [UInt64] {
        var steps = steps
        var part = steps.count / 2
        while part > 0 {
            var start = 0
            while start < steps.count {
                var shorter = steps
                shorter.removeSubrange(start..<min(start + part, steps.count))
                if fails(shorter) { steps = shorter } else { start += part }
            }
            part /= 2
        }
        return steps
    }
}
