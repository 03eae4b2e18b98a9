import { writeFileSync } from 'node:fs';

/** Writes the result of a run into the file `TEST_OUTCOME_FILE`, as a `ReportedOutcome` of `test/main.ts`. */
export default class OutcomeReporter {
  onRunComplete(_contexts, results) {
    const file = process.env.TEST_OUTCOME_FILE;
    if (file === undefined) return;
    const failedSuites = results.testResults.filter(hasFailed).map((suite) => ({
      path: suite.testFilePath,
      passed: suite.numPassingTests,
      failed: suite.numFailingTests + (suite.testExecError == null ? 0 : 1),
      skipped: suite.numPendingTests + suite.numTodoTests,
    }));
    const { runExecError, wasInterrupted, snapshot, numTotalTestSuites, testResults } = results;
    const outcome = {
      isWhole:
        runExecError === undefined &&
        !wasInterrupted &&
        !snapshot.failure &&
        testResults.length === numTotalTestSuites,
      passed: results.numPassedTests,
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
      failedSuites,
    };
    writeFileSync(file, JSON.stringify(outcome));
  }
}

function hasFailed({ numFailingTests, testExecError }) {
  return numFailingTests > 0 || testExecError != null;
}
