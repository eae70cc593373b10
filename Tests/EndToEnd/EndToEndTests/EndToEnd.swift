import Testing

/// Everything here works on one system of processes, and kills some of them: one test at a time.
@Suite(.serialized, .timeLimit(.minutes(6)), .logsAfter(.seconds(300))) enum EndToEnd {}
