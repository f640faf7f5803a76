// Prints how many of the first rows of a stream a learner of MOA predicts wrongly, each before it
// is learned.
//
//   java -cp moa.jar tests/learners/MoaMistakes.java "generators.SEAGenerator" "lazy.kNN -k 5" 5000
//
// A fourth argument is the seed of the learner.
//
// moa.jar is in the folder capymoa/jar of the Python package capymoa 0.15.1 (MOA 24.07).

import com.github.javacliparser.ClassOption;
import com.yahoo.labs.samoa.instances.Instance;
import moa.classifiers.Classifier;
import moa.core.Example;
import moa.core.Utils;
import moa.options.OptionHandler;
import moa.streams.ExampleStream;

public class MoaMistakes {
    public static void main(String[] arguments) throws Exception {
        ExampleStream stream = (ExampleStream) ClassOption.cliStringToObject(
                arguments[0], ExampleStream.class, null);
        ((OptionHandler) stream).prepareForUse();
        Classifier learner = (Classifier) ClassOption.cliStringToObject(
                arguments[1], Classifier.class, null);
        learner.setModelContext(stream.getHeader());
        ((OptionHandler) learner).prepareForUse();
        if (arguments.length > 3) {
            learner.setRandomSeed(Integer.parseInt(arguments[3]));
        }
        learner.resetLearning();
        int mistakes = 0;
        for (int row = 0; row < Integer.parseInt(arguments[2]); row++) {
            Example example = stream.nextInstance();
            Instance instance = (Instance) example.getData();
            int predicted = Utils.maxIndex(learner.getVotesForInstance(example));
            if (predicted != (int) instance.classValue()) {
                mistakes++;
            }
            learner.trainOnInstance(instance);
        }
        System.out.println(mistakes);
    }
}
