import BenchmarkRunner

/// Every benchmark, in the order in which they run.
enum Registry {
    static let benchmarks: [Benchmark] = [
        // Before others have left memory to be used again.
        webSocketIdleBytes,
        commitToAck, commitToDevice, ackedWrites, tenWriters, sharedWrites, fanOut,
        quietConversation, busyConversation, manyConversations,
        firstSync, largeFirstSync, resumes, firstAnswers,
        realmAckedWrites, realmOneWriter, realmTenWriters, realmSharedWrites, realmFanOut, realmSmallFanOut,
        realmBootstrap, realmSmallBootstrap, realmTransform, realmTransformOfTen,
        functionCalls, functionsWaiting, triggerEvents, triggerWrites, triggerEventsInOrder, watchFanOut, watchResumes,
        appDeployments,
        signIns,
        httpRequests, clientRequests, pipelinedInserts, redisGets, kafkaProduced, kafkaConsumed,
        loopHops, loopEvents, logLines, metricRecords, groupShutdowns,
        jsonParse, jsonPrint, binaryFrames,
        documentsFindOneById, documentsFindOneByIndex, documentsUpdateOneById, documentsInsertMany, documentsReadAll,
        documentsGroup, firstSorted, foundText,
        documentsExternalUpdate, documentsImportDump,
        // What it inserts stays.
        idlePartitions,
    ]
}
