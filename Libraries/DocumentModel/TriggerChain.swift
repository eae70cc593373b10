/// The runs of triggers that led to a change: each run but the first was for a change that the run before it wrote.
public struct TriggerChain: Hashable, Sendable {
    /// A trigger of the chain.
    public struct Link: Hashable, Sendable {
        @ExactText public var trigger: String
        /// How often it has run in the chain, at least once.
        public var runs: Int64

        /// Creates a link.
        public init(trigger: String, runs: Int64) {
            self.trigger = trigger
            self.runs = runs
        }
    }

    /// The id of the event that the first run was for.
    @ExactText public var beginning: String
    /// The triggers, each once, in the order of their last runs.
    public var links: [Link]

    /// Creates a chain.
    public init(beginning: String, links: [Link] = []) {
        self.beginning = beginning
        self.links = links
    }

    /// How often a trigger has run in the chain.
    public func runs(of trigger: String) -> Int64 {
        links.first { $0.trigger.hasSameBytes(as: trigger) }?.runs ?? 0
    }

    /// The chain of the changes that a run of the trigger writes, if the run is for a change of this chain.
    public func followed(by trigger: String) -> TriggerChain {
        var chain = self
        chain.links.removeAll { $0.trigger.hasSameBytes(as: trigger) }
        chain.links.append(Link(trigger: trigger, runs: runs(of: trigger) + 1))
        return chain
    }

    /// The last circle of the chain that ends with another run of the trigger: `a → b → a`.
    public func circle(of trigger: String) -> String {
        let start = links.firstIndex { $0.trigger.hasSameBytes(as: trigger) } ?? links.endIndex
        return (links[start...].map(\.trigger) + [trigger]).joined(separator: " → ")
    }
}
