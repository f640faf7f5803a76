// Predicts and learns a block of rows in one call: Python makes no object for a row or a value.
//
// Compile it for the oldest Java that CapyMOA runs on, with moa.jar of the Python package capymoa:
//
//   javac --release 11 -cp moa.jar RowLoop.java

import com.yahoo.labs.samoa.instances.Attribute;
import com.yahoo.labs.samoa.instances.DenseInstance;
import com.yahoo.labs.samoa.instances.Instance;
import com.yahoo.labs.samoa.instances.Instances;
import com.yahoo.labs.samoa.instances.InstancesHeader;
import com.yahoo.labs.samoa.instances.SparseInstance;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputFilter;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import moa.classifiers.Classifier;
import moa.classifiers.OneClassClassifier;
import moa.core.Utils;

public final class RowLoop {
    private static final String CLASSES =
            "moa.**;com.yahoo.labs.samoa.**;com.github.javacliparser.**;java.lang.*;java.util.**;!*";

    private Classifier learner;
    private InstancesHeader header;
    private int[] nominal;
    private final int columns;
    private final int classes;

    /**
     * Rows have `columns` numbers. Without `classes` the learner predicts a number, and with one it
     * is an anomaly detector, of which the score is wanted.
     */
    public RowLoop(Classifier learner, InstancesHeader header, int columns, int classes) {
        this.learner = learner;
        this.columns = columns;
        this.classes = classes;
        setHeader(header);
    }

    private void setHeader(InstancesHeader newHeader) {
        header = newHeader;
        nominal = IntStream.range(0, columns)
                .filter(column -> newHeader.attribute(column).isNominal())
                .toArray();
    }

    /**
     * Returns the header of a stream, whose values and classes are called 0, 1, ...
     *
     * A column with `values` is nominal, and has so many; one with 0 is numeric.
     */
    public static InstancesHeader header(int[] values, int classes) {
        int columns = values.length;
        List<Attribute> attributes = new ArrayList<>(columns + 1);
        for (int column = 0; column < columns; column++) {
            attributes.add(attribute("x" + column, values[column]));
        }
        attributes.add(attribute("y", classes));
        Instances instances = new Instances("olscale", attributes, 0);
        instances.setClassIndex(columns);
        return new InstancesHeader(instances);
    }

    private static Attribute attribute(String name, int values) {
        if (values == 0) {
            return new Attribute(name);
        }
        List<String> codes = new ArrayList<>(values);
        for (int code = 0; code < values; code++) {
            codes.add(Integer.toString(code));
        }
        return new Attribute(name, codes);
    }

    /**
     * Predicts each row, then learns it unless `labels` is null; returns the predictions.
     *
     * A prediction is a number or score, or the code of a class and a vote for each. `weights` is null
     * where all are 1. Dense rows follow one another in `values`; sparse rows have `starts`, where
     * each begins and the last ends, and the `indices` of their values, in ascending order.
     */
    public double[] run(
            double[] values, int[] starts, int[] indices, double[] labels, double[] weights,
            int rows) {
        int width = classes > 1 ? classes + 1 : 1;
        double[] predictions = new double[rows * width];
        for (int row = 0; row < rows; row++) {
            double label = labels == null ? 0.0 : labels[row];
            double weight = weights == null ? 1.0 : weights[row];
            Instance instance;
            if (starts == null) {
                double[] numbers = Arrays.copyOfRange(
                        values, row * columns, row * columns + columns + 1);
                numbers[columns] = label;
                instance = new DenseInstance(weight, numbers);
            } else {
                instance = sparse(values, indices, starts[row], starts[row + 1], label, weight);
            }
            instance.setDataset(header);
            for (int column : nominal) {
                if (instance.value(column) < 0.0) { // no code: the value is missing
                    instance.setValue(column, Double.NaN);
                }
            }
            predict(instance, predictions, row * width);
            if (labels != null) {
                learner.trainOnInstance(instance);
            }
        }
        return predictions;
    }

    private void predict(Instance instance, double[] predictions, int first) {
        if (classes == 1) {
            predictions[first] = ((OneClassClassifier) learner).getAnomalyScore(instance);
            return;
        }
        double[] votes = learner.getVotesForInstance(instance);
        if (classes == 0) {
            predictions[first] = votes.length == 0 ? 0.0 : votes[0];
            return;
        }
        predictions[first] = Utils.maxIndex(votes);
        int count = Math.min(votes.length, classes);
        System.arraycopy(votes, 0, predictions, first + 1, count);
    }

    private Instance sparse(
            double[] values, int[] indices, int start, int stop, double label, double weight) {
        double[] numbers = Arrays.copyOfRange(values, start, stop + 1);
        int[] places = Arrays.copyOfRange(indices, start, stop + 1);
        numbers[stop - start] = label;
        places[stop - start] = columns;
        return new SparseInstance(weight, numbers, places, columns + 1);
    }

    /** Returns all that was learned, in Java's serialisation. */
    public byte[] save() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(learner);
        }
        return bytes.toByteArray();
    }

    /** Continues from what `save` returned; objects of other classes than MOA's are refused. */
    public void load(byte[] bytes) throws IOException, ClassNotFoundException {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            in.setObjectInputFilter(ObjectInputFilter.Config.createFilter(CLASSES));
            learner = learner.getClass().cast(in.readObject());
        }
        InstancesHeader context = learner.getModelContext();
        if (context != null) { // new instances share it with those that the learner keeps
            setHeader(context);
        }
    }
}
